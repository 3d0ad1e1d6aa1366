import type { ModelKind } from '../../domain/brain/brain-kind.ts'
import { agentEnvironment } from '../../domain/config/agent-env.ts'
import type { Config } from '../../domain/config/config.ts'
import type { ClaudeJudge } from './claude-judge.ts'

type Env = Record<string, string | undefined>

/** Everything that is needed to reach a model. */
export type SetUp =
  | { kind: 'gemini'; model: string; key: string; baseUrl: string }
  | { kind: 'ollama'; model: string; host: string }
  | ({ kind: 'claude' } & ClaudeJudge)
  | { kind: 'openai-compatible'; model: string; key: string | undefined; baseUrl: string; jsonSchema: boolean }

/** What the settings say of a kind of brain, or what is missing there, as the end of a sentence about it. */
export function setUpOf(kind: ModelKind, { brain, agents }: Config, env: Env): SetUp | { problem: string } {
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
