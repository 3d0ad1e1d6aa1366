import {
  APICallError,
  generateText,
  type LanguageModel,
  type LanguageModelUsage,
  NoObjectGeneratedError,
  Output,
  RetryError,
} from 'ai'
import { redactText } from '../base/redact.ts'
import type { ModelUse } from '../domain/brain.ts'
import { type Model, ModelFailure } from './model-brain.ts'

export interface AiModelOptions {
  /** The provider, for messages. */
  name: string
  /** Removed from every message. */
  key?: string | undefined
  /** Settings of one provider. */
  providerOptions?: Parameters<typeof generateText>[0]['providerOptions']
}

/** One retry: the deadline is short, and a person is asked next. */
const RETRIES = 1
const MOST_TOKENS = 2_000

/** A model of the AI SDK. The SDK passes the shape on in the provider's own form; the brain checks the reply. */
export function aiModel(model: LanguageModel, { name, key, providerOptions }: AiModelOptions): Model {
  // Otherwise the library would write warnings to the daemon's standard error.
  globalThis.AI_SDK_LOG_WARNINGS = false
  return async ({ instructions, prompt, shape, signal }) => {
    try {
      const { text, finishReason, rawFinishReason, usage } = await generateText({
        model,
        instructions,
        prompt,
        output: Output.object({ schema: shape, name: 'opinion' }),
        temperature: 0,
        maxOutputTokens: MOST_TOKENS,
        maxRetries: RETRIES,
        abortSignal: signal,
        ...(providerOptions && { providerOptions }),
      })
      const used = usedBy(usage, model)
      return finishReason === 'content-filter' ? { refused: rawFinishReason ?? finishReason, used } : { text, used }
    } catch (error) {
      // Text of another shape is still a reply: the brain says what is wrong with it and asks again.
      if (NoObjectGeneratedError.isInstance(error)) {
        const used = error.usage && usedBy(error.usage, model)
        if (error.finishReason === 'content-filter') return { refused: 'its content filter blocked the reply', used }
        return { text: error.text ?? '', used }
      }
      throw new ModelFailure(describeFailure(name, error, key), { cause: error })
    }
  }
}

/** A model on the person's own machine costs nothing. */
function usedBy(usage: LanguageModelUsage, model: LanguageModel): ModelUse {
  const { inputTokens = 0, outputTokens = 0, inputTokenDetails: cache } = usage
  const { provider, modelId } = typeof model === 'string' ? { provider: '', modelId: model } : model
  const cacheReadTokens = cache.cacheReadTokens ?? 0
  return {
    ...{ model: modelId, inputTokens: Math.max(0, inputTokens - cacheReadTokens), outputTokens, cacheReadTokens },
    cacheWriteTokens: 0,
    ...(provider.startsWith('ollama') && { costUsd: 0 }),
  }
}

const LONGEST = 300

/** Why a model did not answer and what to do, without the key. */
function describeFailure(name: string, error: unknown, key?: string): string {
  const last = RetryError.isInstance(error) ? error.lastError : error
  const clean = (text: string) =>
    redactText(text, key === undefined ? [] : [key])
      .replace(/[^\P{C}]+/gu, ' ')
      .slice(0, LONGEST)
  if (!APICallError.isInstance(last)) return clean(last instanceof Error ? last.message : String(last))
  const message = clean(last.message)
  const { statusCode } = last
  if (statusCode === undefined) return `it cannot be reached at ${new URL(last.url).origin}: ${message}`
  if (isWrongKey(statusCode, last.message))
    return `it refuses the key (${statusCode}): ${message}. Set another with: pcc config brain ${name}`
  if (statusCode === 404)
    return `it does not know the model (404): ${message}. Choose one with: pcc config brain ${name}`
  if (statusCode === 429) return `it allows no more requests for now (429): ${message}`
  return `it answered with status ${statusCode}: ${message}`
}

/** Google answers an invalid key with 400. */
function isWrongKey(status: number, message: string): boolean {
  return status === 401 || status === 403 || (status === 400 && /api.?key/i.test(message))
}
