import type { Brain } from '../../domain/brain/brain.ts'
import type { ModelKind } from '../../domain/brain/brain-kind.ts'
import type { Config } from '../../domain/config/config.ts'
import { guarded } from '../guarded.ts'
import { notConfident } from '../opinion.ts'
import type { Model } from './model.ts'
import { modelBrain } from './model-brain.ts'
import { type SetUp, setUpOf } from './set-up.ts'

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
  const setUp = setUpOf(kind, config, env)
  if ('problem' in setUp) return unavailable(kind, `${kind} ${setUp.problem}`)
  const model = await openModel(setUp)
  return guarded(modelBrain(kind, model), { deadlineMs: config.brain.timeout_seconds * 1000 })
}

/** The prompt's caps come to some 10,000 tokens; what Ollama takes when nobody asks is less and cuts silently. */
const OLLAMA_CONTEXT_TOKENS = 16_384

async function openModel(setUp: SetUp): Promise<Model> {
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
    answerQuestion: async () => notConfident(name, why),
    evaluatePermission: async () => notConfident(name, why),
    summarize: async () => notConfident(name, why),
  }
}
