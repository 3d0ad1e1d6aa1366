import { once } from 'node:events'
import { connect } from 'node:net'
import type { EmbeddingModel } from 'ai'
import { messageOf } from '../base/errors.ts'
import { redactText } from '../base/redact.ts'
import { readSecret } from '../domain/config/secret-references.ts'
import type { Config } from '../domain/config/settings.ts'
import type { Embedder } from '../domain/embedder.ts'

/** Who can embed texts, with all that is needed to reach them. */
export type EmbeddingProvider =
  | { kind: 'ollama'; host: string; model: string }
  | { kind: 'gemini'; key: string; baseUrl: string; model: string }
  | { kind: 'openai-compatible'; baseUrl: string; key?: string | undefined; model: string }

/** The providers of the settings, in the order in which they are asked; or why there is none. */
export type FoundProviders = { providers: EmbeddingProvider[] } | { problem: string }

/**
 * Reads who computes embeddings. `config` must be loaded without trust in the project: its file may switch embeddings off, and say nothing about where its
 * code is sent.
 */
export function readProviders(config: Config, env: Record<string, string | undefined>): FoundProviders {
  const { embedding_provider: wanted, local_model, gemini_model, openai_compatible: server } = config.knowledge
  const local: EmbeddingProvider = { kind: 'ollama', host: config.brain.ollama.host, model: local_model }
  const { api_key, base_url } = config.brain.gemini
  const geminiKey = readSecret(api_key, env)
  const gemini: EmbeddingProvider | { problem: string } = geminiKey
    ? { kind: 'gemini', key: geminiKey, baseUrl: base_url, model: gemini_model }
    : { problem: 'Gemini has no key (brain.gemini.api_key)' }
  const compatible: EmbeddingProvider | { problem: string } =
    server.base_url && server.model
      ? {
          kind: 'openai-compatible',
          baseUrl: server.base_url,
          model: server.model,
          key: readSecret(server.api_key, env),
        }
      : { problem: 'knowledge.openai_compatible has no base_url or no model' }
  switch (wanted) {
    case 'none':
      return { problem: 'knowledge.embedding_provider is "none"' }
    case 'local':
      return { providers: [local] }
    case 'hybrid':
      return { providers: [local, gemini, compatible].filter(each => 'kind' in each) }
    default: {
      const chosen = wanted === 'gemini' ? gemini : compatible
      return 'problem' in chosen ? chosen : { providers: [chosen] }
    }
  }
}

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
    models: providers.map(nameOf),
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
  if (provider.kind === 'ollama') await reach(provider.host, signal)
  const { embedMany } = await import('ai')
  const { embeddings } = await embedMany({
    model: await openModel(provider),
    values: values.map(text => redactText(text)),
    maxRetries: RETRIES,
    ...(signal && { abortSignal: signal }),
    ...(provider.kind === 'gemini' && { providerOptions: { google: { taskType } } }),
  })
  return embeddings
}

/** Most people have no Ollama: a look whether its port is open saves them the libraries, which take a second and 40 MB. Throws if it is not. */
async function reach(address: string, signal?: AbortSignal): Promise<void> {
  const { hostname, port, protocol } = new URL(address)
  const host = hostname.replace(/^\[|\]$/g, '')
  const socket = connect({ host, port: Number(port) || (protocol === 'https:' ? 443 : 80) })
  try {
    await once(socket, 'connect', {
      signal: AbortSignal.any([AbortSignal.timeout(REACH_MS), ...(signal ? [signal] : [])]),
    })
  } catch (error) {
    throw new Error(`nothing answers at ${address} (${(error as NodeJS.ErrnoException).code ?? messageOf(error)})`)
  } finally {
    socket.destroy()
  }
}

const REACH_MS = 2000

/** The text goes where the person said, and nowhere else. */
const fetchHere: typeof fetch = (input, init) => fetch(input, { ...init, redirect: 'error' })

/** Libraries are imported on use. */
async function openModel(provider: EmbeddingProvider): Promise<EmbeddingModel> {
  const withoutSlash = (url: string) => url.replace(/\/+$/, '')
  switch (provider.kind) {
    case 'ollama': {
      const { createOllama } = await import('ollama-ai-provider-v2')
      return createOllama({ baseURL: `${withoutSlash(provider.host)}/api`, fetch: fetchHere }).embeddingModel(
        provider.model,
      )
    }
    case 'gemini': {
      const { createGoogle } = await import('@ai-sdk/google')
      return createGoogle({ apiKey: provider.key, baseURL: provider.baseUrl, fetch: fetchHere }).embeddingModel(
        provider.model,
      )
    }
    case 'openai-compatible': {
      const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
      const key = provider.key === undefined ? {} : { apiKey: provider.key }
      const made = createOpenAICompatible({
        name: provider.kind,
        baseURL: withoutSlash(provider.baseUrl),
        fetch: fetchHere,
        ...key,
      })
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
