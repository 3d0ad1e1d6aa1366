import { type EmbeddingModel, embedMany } from 'ai'
import { messageOf } from '../base/errors.ts'
import { redactText } from '../base/redact.ts'
import type { Embedder } from '../domain/embedder.ts'

/** Who can embed texts, with all that is needed to reach them. */
export type EmbeddingProvider =
  | { kind: 'ollama'; host: string; model: string }
  | { kind: 'gemini'; key: string; baseUrl: string; model: string }
  | { kind: 'openai-compatible'; baseUrl: string; key?: string | undefined; model: string }

/** The deadline of the caller is what counts; a second try is for a connection that broke. */
const RETRIES = 1
const LONGEST = 300

/**
 * An embedder that asks the providers in their order: a local one first, then an API. An index that has vectors of one model asks only that one, because
 * vectors of two models cannot be compared.
 */
export function openEmbedder(providers: readonly EmbeddingProvider[]): Embedder {
  // Otherwise the library would write warnings to the standard error.
  globalThis.AI_SDK_LOG_WARNINGS = false
  return {
    embed: async (texts, { purpose, model, signal }) => {
      const asked = providers.filter(provider => model === undefined || nameOf(provider) === model)
      if (asked.length === 0)
        return {
          problem: model === undefined ? 'no provider of embeddings is set up' : `${model} is not set up any more`,
        }
      const problems: string[] = []
      for (const provider of asked) {
        try {
          const vectors = await embedWith(provider, withPrefix(provider, texts, purpose), { purpose, signal })
          return { model: nameOf(provider), vectors }
        } catch (error) {
          problems.push(`${nameOf(provider)}: ${explain(error, provider)}`)
          if (signal?.aborted) break
        }
      }
      return { problem: problems.join('; ') }
    },
  }
}

function nameOf({ kind, model }: EmbeddingProvider): string {
  return `${kind} ${model}`
}

interface EmbedCall {
  purpose: 'document' | 'query'
  signal: AbortSignal | undefined
}

async function embedWith(provider: EmbeddingProvider, values: string[], { purpose, signal }: EmbedCall) {
  const taskType = purpose === 'query' ? 'CODE_RETRIEVAL_QUERY' : 'RETRIEVAL_DOCUMENT'
  const { embeddings } = await embedMany({
    model: await openModel(provider),
    values,
    maxRetries: RETRIES,
    ...(signal && { abortSignal: signal }),
    ...(provider.kind === 'gemini' && { providerOptions: { google: { taskType } } }),
  })
  return embeddings
}

/** Libraries are imported on use: most people have no provider. */
async function openModel(provider: EmbeddingProvider): Promise<EmbeddingModel> {
  const withoutSlash = (url: string) => url.replace(/\/+$/, '')
  switch (provider.kind) {
    case 'ollama': {
      const { createOllama } = await import('ollama-ai-provider-v2')
      return createOllama({ baseURL: `${withoutSlash(provider.host)}/api` }).embeddingModel(provider.model)
    }
    case 'gemini': {
      const { createGoogle } = await import('@ai-sdk/google')
      return createGoogle({ apiKey: provider.key, baseURL: provider.baseUrl }).embeddingModel(provider.model)
    }
    case 'openai-compatible': {
      const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
      const key = provider.key === undefined ? {} : { apiKey: provider.key }
      const made = createOpenAICompatible({ name: provider.kind, baseURL: withoutSlash(provider.baseUrl), ...key })
      return made.embeddingModel(provider.model)
    }
  }
}

/** The nomic models were trained with these words before each text, and find little without them. */
function withPrefix({ model }: EmbeddingProvider, texts: readonly string[], purpose: EmbedCall['purpose']): string[] {
  if (!model.startsWith('nomic-embed')) return [...texts]
  return texts.map(text => `${purpose === 'query' ? 'search_query' : 'search_document'}: ${text}`)
}

function explain(error: unknown, provider: EmbeddingProvider): string {
  const secrets = 'key' in provider && provider.key !== undefined ? [provider.key] : []
  return redactText(messageOf(error), secrets).replace(/\s+/g, ' ').slice(0, LONGEST)
}
