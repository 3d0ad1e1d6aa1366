import { join } from 'node:path'
import type { Log } from '../base/log.ts'
import type { Places } from '../base/places.ts'
import { loadConfig } from '../domain/config/load.ts'
import type { Store } from '../store/store.ts'

export interface PruneCheckpoints {
  places: Places
  env: Record<string, string | undefined>
  store: Store
  log: Log
}

const DAY_MS = 24 * 60 * 60_000

/** Removes old checkpoints now and once a day, by the setting as it then is. Disposing waits for what is under way. */
export function pruneCheckpoints(parts: PruneCheckpoints): AsyncDisposable {
  const once = () => pruneOnce(parts).catch(error => parts.log.warn({ error }, 'checkpoints could not be pruned'))
  let latest = once()
  const timer = setInterval(() => {
    latest = once()
  }, DAY_MS)
  timer.unref()
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      await latest
    },
  }
}

async function pruneOnce({ places, env, store, log }: PruneCheckpoints): Promise<void> {
  const { config } = await loadConfig({ places, env })
  const { prune } = await import('../agents/checkpoints/prune.ts')
  const removed = await prune(join(places.data, 'checkpoints'), {
    days: config.data.checkpoint_retention_days,
    now: Date.now(),
    // What can still be gone on with keeps its last one, however long it has waited.
    keepLast: async id => {
      const row = await store.sessions.get(id)
      return row !== undefined && row.ended_as !== 'completed'
    },
  })
  if (removed > 0) log.info({ removed }, 'old checkpoints removed')
}
