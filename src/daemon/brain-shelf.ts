import { createHash } from 'node:crypto'
import type { Brain } from '../domain/brain/brain.ts'
import type { Config } from '../domain/config/config.ts'

/** As many settings as are in use at once; older ones are opened anew when they are needed. */
const KEPT = 8

/** Opens the language models that settings name, on use: their libraries are memory that most daemons never need. */
export interface BrainShelf {
  get(config: Config, env: Record<string, string | undefined>): Promise<Brain[]>
}

/**
 * Sessions with the same settings share their models, so that one that fails for all of them is noticed by all of them: the
 * circuit breaker counts for the model, not for the session.
 */
export function brainShelf(): BrainShelf {
  const open = new Map<string, Promise<Brain[]>>()
  return {
    async get(config, env) {
      if (config.brain.type === 'none' && config.brain.fallbacks.length === 0) return []
      const key = keyOf(config, env)
      const known = open.get(key) ?? import('../brain/models/open.ts').then(({ openBrains }) => openBrains(config, env))
      open.delete(key)
      open.set(key, known)
      for (const oldest of [...open.keys()].slice(0, -KEPT)) open.delete(oldest)
      return known
    },
  }
}

/** A hash, because settings and environment may hold keys. Of the environment only what says whose model it is. */
function keyOf({ brain, agents }: Config, env: Record<string, string | undefined>): string {
  const named = new Set(JSON.stringify(brain).match(/(?<="env:)\w+/g))
  const logins = Object.entries(env).filter(([name]) => named.has(name) || /^(ANTHROPIC|CLAUDE)_|^HOME$/.test(name))
  return createHash('sha256')
    .update(JSON.stringify([brain, agents, logins.sort()]))
    .digest('hex')
}
