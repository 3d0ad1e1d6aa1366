import * as z from 'zod'
import { messageOf, unreachable } from '../base/errors.ts'
import { redactText } from '../base/redact.ts'
import { agentEnvironment } from '../domain/agent-env.ts'
import type { Brain } from '../domain/brain.ts'
import type { Config } from '../domain/config/settings.ts'
import type { ModelKind } from '../domain/option-values.ts'
import { noOpinion } from './chain.ts'
import type { ClaudeJudge } from './claude-judge.ts'
import { type Model, modelBrain, withGuard } from './model-brain.ts'

type Env = Record<string, string | undefined>

/**
 * The language models of the settings, the first choice first, each with its deadline and its circuit breaker. One that is
 * not set up says so when it is asked, so that a session still runs, with a person in its place. `env` holds what `env:NAME`
 * names and Claude's login.
 */
export async function openBrains(config: Config, env: Env): Promise<Brain[]> {
  const { type, fallbacks } = config.brain
  const kinds = [...new Set([type, ...fallbacks])].filter(kind => kind !== 'none')
  return Promise.all(kinds.map(kind => openBrain(kind, config, env)))
}

/** One language model as a brain. Its libraries are imported here and nowhere else, when the first one is opened. */
export async function openBrain(kind: ModelKind, config: Config, env: Env): Promise<Brain> {
  const setUp = readModelSetup(kind, config, env)
  if ('problem' in setUp) return unavailable(kind, `${kind} ${setUp.problem}`)
  const model = await openModel(setUp)
  return withGuard(modelBrain(kind, model), { deadlineMs: config.brain.timeout_seconds * 1000 })
}

/** The prompt's caps come to some 10,000 tokens; what Ollama takes when nobody asks is less and cuts silently. */
const OLLAMA_CONTEXT_TOKENS = 16_384

async function openModel(setUp: ModelSetup): Promise<Model> {
  const name = setUp.kind
  if (setUp.kind === 'claude') {
    const { claudeJudge } = await import('./claude-judge.ts')
    return claudeJudge(setUp)
  }
  const { aiModel } = await import('./ai-model.ts')
  switch (setUp.kind) {
    case 'gemini': {
      const { createGoogle } = await import('@ai-sdk/google')
      const { key, baseUrl, model } = setUp
      return aiModel(createGoogle({ apiKey: key, baseURL: baseUrl })(model), { name, key })
    }
    case 'ollama': {
      const { createOllama } = await import('ollama-ai-provider-v2')
      const model = createOllama({ baseURL: `${setUp.host.replace(/\/+$/, '')}/api` })(setUp.model)
      const options = { num_ctx: OLLAMA_CONTEXT_TOKENS, temperature: 0 }
      return aiModel(model, { name, providerOptions: { ollama: { options } } })
    }
    default: {
      const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
      const { key, baseUrl, model, jsonSchema } = setUp
      const provider = createOpenAICompatible({
        name,
        baseURL: baseUrl,
        supportsStructuredOutputs: jsonSchema,
        ...(key !== undefined && { apiKey: key }),
      })
      return aiModel(provider(model), { name, key })
    }
  }
}

function unavailable(name: string, why: string): Brain {
  return {
    name,
    answerQuestion: async () => noOpinion(name, why),
    evaluatePermission: async () => noOpinion(name, why),
    summarize: async () => noOpinion(name, why),
  }
}

/** Everything that is needed to reach a model. */
type ModelSetup =
  | { kind: 'gemini'; model: string; key: string; baseUrl: string }
  | { kind: 'ollama'; model: string; host: string }
  | ({ kind: 'claude' } & ClaudeJudge)
  | { kind: 'openai-compatible'; model: string; key: string | undefined; baseUrl: string; jsonSchema: boolean }

/** What the settings say of a kind of brain, or what is missing there, as the end of a sentence about it. */
export function readModelSetup(kind: ModelKind, { brain, agents }: Config, env: Env): ModelSetup | { problem: string } {
  const wizard = `pcc config brain ${kind}`
  switch (kind) {
    case 'gemini': {
      const { api_key, model, base_url } = brain.gemini
      const key = secretOf(api_key, env)
      if (key !== undefined) return { kind, model, key, baseUrl: base_url }
      return { problem: api_key ? notThere(api_key) : `has no key. Give it one with: ${wizard}` }
    }
    case 'ollama': {
      const { model, host } = brain.ollama
      return model ? { kind, model, host } : { problem: `has no model. Choose one with: ${wizard}` }
    }
    case 'claude':
      return {
        kind,
        model: brain.claude.model,
        env: agentEnvironment(env, agents.env),
        executable: agents.path,
        isolation: agents.isolation,
      }
    default: {
      const { base_url, model, api_key, json_schema } = brain.openai_compatible
      if (!base_url) return { problem: `has no address. Give it one with: ${wizard}` }
      if (!model) return { problem: `has no model. Choose one with: ${wizard}` }
      const key = secretOf(api_key, env)
      if (api_key && key === undefined) return { problem: notThere(api_key) }
      return { kind, model, key, baseUrl: base_url, jsonSchema: json_schema }
    }
  }
}

/** `env:NAME` is the value of that variable, everything else is the secret itself. */
function secretOf(setting: string | undefined, env: Env): string | undefined {
  if (!setting?.startsWith('env:')) return setting
  return env[setting.slice('env:'.length)] || undefined
}

function notThere(setting: string): string {
  const name = setting.slice('env:'.length)
  return `takes its key from ${name}, which is not set here. Set it, then: pcc daemon restart`
}

/** Where a list of models is to be had, before one is chosen. */
export type ModelSource = Without<Exclude<ModelSetup, { kind: 'claude' }>, 'model'>

type Without<T, Key extends string> = T extends unknown ? Omit<T, Key> : never

/** The names of the models; `models` is undefined where the server is there and keeps no list. */
export type ModelList = { models: string[] | undefined } | { unreachable: string } | { refused: string }

const PATIENCE_MS = 10_000

/** Asks a server which models it has. */
export async function listModels(from: ModelSource, signal: AbortSignal): Promise<ModelList> {
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

function requestFor(from: ModelSource): { url: string; headers: Record<string, string> } {
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

function namesIn(kind: ModelSource['kind'], body: unknown): string[] | undefined {
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
