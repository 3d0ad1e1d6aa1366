import * as z from 'zod'
import { messageOf, unreachable } from '../../base/errors.ts'
import { redactText } from '../../base/redact.ts'
import type { SetUp } from './set-up.ts'

/** Where a list of models is to be had, before one is chosen. */
export type Listed = Without<Exclude<SetUp, { kind: 'claude' }>, 'model'>

type Without<T, Key extends string> = T extends unknown ? Omit<T, Key> : never

/** The names of the models; `models` is undefined where the server is there and keeps no list. */
export type Listing = { models: string[] | undefined } | { unreachable: string } | { refused: string }

const PATIENCE_MS = 10_000

/** Asks a server which models it has. */
export async function listModels(from: Listed, signal: AbortSignal): Promise<Listing> {
  const { url, headers } = requestFor(from)
  const until = AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)])
  try {
    const response = await fetch(url, { headers, signal: until, redirect: 'error' })
    if (response.ok) return { models: namesIn(from.kind, await response.json()) }
    if (response.status === 404) return { models: undefined }
    const said = redactText(await response.text(), Object.values(headers)).slice(0, 300)
    return { refused: `status ${response.status}: ${said}` }
  } catch (error) {
    const { cause } = error as { cause?: unknown }
    return { unreachable: cause === undefined ? messageOf(error) : messageOf(cause) || messageOf(error) }
  }
}

function requestFor(from: Listed): { url: string; headers: Record<string, string> } {
  switch (from.kind) {
    case 'gemini':
      return { url: `${bare(from.baseUrl)}/models?pageSize=1000`, headers: { 'x-goog-api-key': from.key } }
    case 'ollama':
      return { url: `${bare(from.host)}/api/tags`, headers: {} }
    case 'openai-compatible': {
      const headers: Record<string, string> = from.key === undefined ? {} : { authorization: `Bearer ${from.key}` }
      return { url: `${bare(from.baseUrl)}/models`, headers }
    }
    default:
      return unreachable(from)
  }
}

const GeminiModels = z.object({
  models: z
    .array(z.object({ name: z.string(), supportedGenerationMethods: z.array(z.string()).default([]) }))
    .default([]),
})
const OllamaModels = z.object({ models: z.array(z.object({ name: z.string() })).default([]) })
const OpenAiModels = z.object({ data: z.array(z.object({ id: z.string() })) })

function namesIn(kind: Listed['kind'], body: unknown): string[] | undefined {
  if (kind === 'gemini') {
    const models = GeminiModels.safeParse(body).data?.models
    return models
      ?.filter(each => each.supportedGenerationMethods.includes('generateContent'))
      .map(each => each.name.replace(/^models\//, ''))
  }
  if (kind === 'ollama') return OllamaModels.safeParse(body).data?.models.map(each => each.name)
  return OpenAiModels.safeParse(body).data?.data.map(each => each.id)
}

function bare(url: string): string {
  return url.replace(/\/+$/, '')
}
