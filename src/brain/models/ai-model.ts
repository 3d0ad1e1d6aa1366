import { generateText, type LanguageModel, NoObjectGeneratedError, Output } from 'ai'
import { type Model, ModelFailure } from './model.ts'
import { sayFailure } from './say-failure.ts'

export interface AiModelOptions {
  /** Whose model it is, for messages. */
  name: string
  /** Never shown, whoever quotes it. */
  key?: string | undefined
  /** Settings of one provider's own. */
  providerOptions?: Parameters<typeof generateText>[0]['providerOptions']
}

/** One more try after a hiccup; the deadline is short, and a person is the next to be asked. */
const RETRIES = 1
const MOST_TOKENS = 2_000

/** A model of the AI SDK. The shape goes to the provider in its own way; what comes back is checked by the brain. */
export function aiModel(model: LanguageModel, { name, key, providerOptions }: AiModelOptions): Model {
  // The library would write remarks of its own to the daemon's standard error.
  globalThis.AI_SDK_LOG_WARNINGS = false
  return async ({ instructions, prompt, shape, signal }) => {
    try {
      const { text, finishReason, rawFinishReason } = await generateText({
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
      return finishReason === 'content-filter' ? { refused: rawFinishReason ?? finishReason } : { text }
    } catch (error) {
      // Text of another shape is still a reply: the brain says what is wrong with it and asks again.
      if (NoObjectGeneratedError.isInstance(error)) {
        if (error.finishReason === 'content-filter') return { refused: 'its filter stepped in' }
        return { text: error.text ?? '' }
      }
      throw new ModelFailure(sayFailure(name, error, key), { cause: error })
    }
  }
}
