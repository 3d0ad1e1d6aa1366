import * as z from 'zod'
import { messageOf, unreachable } from '../base/errors.ts'
import { redactText } from '../base/redact.ts'
import { agentEnvironment } from '../domain/agent-env.ts'
import type { Brain } from '../domain/brain.ts'
import { explainUnread, readSecret } from '../domain/config/secret-references.ts'
import type { Config } from '../domain/config/settings.ts'
import type { ModelKind } from '../domain/option-values.ts'
import { noOpinion } from './chain.ts'
import type { ClaudeJudge } from './claude-judge.ts'
import { type Model, modelBrain, withGuard } from './model-brain.ts'

type Env = Record<string, string | undefined>

/**
 * The language models of the settings, in order of preference, each with its deadline and its circuit breaker. A model that is
 * not set up says so when it is asked, so that a session still runs and a person answers. `env` holds the variables that
 * `env:NAME` refers to, and Claude's login.
 */
export async function openBrains(config: Config, env: Env): Promise<Brain[]> {
  const { type, fallbacks } = config.brain
  const kinds = [...new Set([type, ...fallbacks])].filter(kind => kind !== 'none')
  return Promise.all(kinds.map(kind => openBrain(kind, config, env)))
}

/** One language model as a brain. Its libraries are imported only here, on first use. */
export async function openBrain(kind: ModelKind, config: Config, env: Env): Promise<Brain> {
  const setup = readModelSetup(kind, config, env)
  if ('problem' in setup) return unavailable(kind, `${kind} ${setup.problem}`)
  const model = await openModel(setup)
  return withGuard(modelBrain(kind, model), { deadlineMs: config.brain.timeout_seconds * 1000 })
}

/** The caps of the prompt add up to some 10,000 tokens; Ollama's default is less and cuts silently. */
const OLLAMA_CONTEXT_TOKENS = 16_384

async function openModel(setup: ModelSetup): Promise<Model> {
  const name = setup.kind
  if (setup.kind === 'claude') {
    const { claudeJudge } = await import('./claude-judge.ts')
    return claudeJudge(setup)
  }
  const { aiModel } = await import('./ai-model.ts')
  switch (setup.kind) {
    case 'gemini': {
      const { createGoogle } = await import('@ai-sdk/google')
      const { key, baseUrl, model } = setup
      return aiModel(createGoogle({ apiKey: key, baseURL: baseUrl })(model), { name, key })
    }
    case 'ollama': {
      const { createOllama } = await import('ollama-ai-provider-v2')
      const model = createOllama({ baseURL: `${withoutTrailingSlash(setup.host)}/api` })(setup.model)
      const options = { num_ctx: OLLAMA_CONTEXT_TOKENS, temperature: 0 }
      return aiModel(model, { name, providerOptions: { ollama: { options } } })
    }
    default: {
      const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
      const { key, baseUrl, model, jsonSchema } = setup
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

/** Everything needed to reach a model. */
type ModelSetup =
  | { kind: 'gemini'; model: string; key: string; baseUrl: string }
  | { kind: 'ollama'; model: string; host: string }
  | ({ kind: 'claude' } & ClaudeJudge)
  | { kind: 'openai-compatible'; model: string; key: string | undefined; baseUrl: string; jsonSchema: boolean }

/** The setup of a kind of brain from the settings, or what is missing, as the end of a sentence about it. */
export function readModelSetup(kind: ModelKind, { brain, agents }: Config, env: Env): ModelSetup | { problem: string } {
  const wizard = `pcc config brain ${kind}`
  switch (kind) {
    case 'gemini': {
      const { api_key, model, base_url } = brain.gemini
      const key = readSecret(api_key, env)
      if (key !== undefined) return { kind, model, key, baseUrl: base_url }
      return {
        problem: api_key ? `takes its key from ${explainUnread(api_key)}` : `has no key. Give it one with: ${wizard}`,
      }
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
      const key = readSecret(api_key, env)
      if (api_key && key === undefined) return { problem: `takes its key from ${explainUnread(api_key)}` }
      return { kind, model, key, baseUrl: base_url, jsonSchema: json_schema }
    }
  }
}

/** A server that can list its models, before one is chosen. */
export type ModelSource = Without<Exclude<ModelSetup, { kind: 'claude' }>, 'model'>

type Without<T, Key extends string> = T extends unknown ? Omit<T, Key> : never

/** The names of the models; `models` is undefined when the server answers but has no list. */
export type ModelList = { models: string[] | undefined } | { unreachable: string } | { refused: string }

const TIMEOUT_MS = 10_000

/** Asks a server which models it has. */
export async function listModels(source: ModelSource, signal: AbortSignal): Promise<ModelList> {
  const { url, headers } = buildRequest(source)
  const until = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)])
  try {
    const response = await fetch(url, { headers, signal: until, redirect: 'error' })
    if (response.ok) return { models: readModelNames(source.kind, await response.json()) }
    if (response.status === 404) return { models: undefined }
    const text = redactText(await response.text(), Object.values(headers)).slice(0, 300)
    return { refused: `status ${response.status}: ${text}` }
  } catch (error) {
    const { cause } = error as { cause?: unknown }
    return { unreachable: cause === undefined ? messageOf(error) : messageOf(cause) || messageOf(error) }
  }
}

function buildRequest(source: ModelSource): { url: string; headers: Record<string, string> } {
  switch (source.kind) {
    case 'gemini':
      return {
        url: `${withoutTrailingSlash(source.baseUrl)}/models?pageSize=1000`,
        headers: { 'x-goog-api-key': source.key },
      }
    case 'ollama':
      return { url: `${withoutTrailingSlash(source.host)}/api/tags`, headers: {} }
    case 'openai-compatible': {
      const headers: Record<string, string> = source.key === undefined ? {} : { authorization: `Bearer ${source.key}` }
      return { url: `${withoutTrailingSlash(source.baseUrl)}/models`, headers }
    }
    default:
      return unreachable(source)
  }
}

const GeminiModels = z.object({
  models: z
    .array(z.object({ name: z.string(), supportedGenerationMethods: z.array(z.string()).default([]) }))
    .default([]),
})
const OllamaModels = z.object({ models: z.array(z.object({ name: z.string() })).default([]) })
const OpenAiModels = z.object({ data: z.array(z.object({ id: z.string() })) })

function readModelNames(kind: ModelSource['kind'], body: unknown): string[] | undefined {
  if (kind === 'gemini') {
    const models = GeminiModels.safeParse(body).data?.models
    return models
      ?.filter(model => model.supportedGenerationMethods.includes('generateContent'))
      .map(model => model.name.replace(/^models\//, ''))
  }
  if (kind === 'ollama') return OllamaModels.safeParse(body).data?.models.map(({ name }) => name)
  return OpenAiModels.safeParse(body).data?.data.map(({ id }) => id)
}

function withoutTrailingSlash(url: string): string {
  return url.replace(/\/+$/, '')
}
