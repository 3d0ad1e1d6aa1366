import { join } from 'node:path'
import type { Places } from '../../base/places.ts'
import type { Store } from '../../store/store.ts'

const MB = 1024 * 1024

export interface PruneCheckpoints {
  places: Places
  store: Store
  days: number
  maxMb: number
  now: number
}

/** Removes checkpoints by age and by size. What can still be gone on with keeps its last one, however long it has waited. */
export async function pruneCheckpoints({ places, store, days, maxMb, now }: PruneCheckpoints): Promise<number> {
  const { prune } = await import('../../agents/checkpoints/prune.ts')
  return prune(join(places.data, 'checkpoints'), {
    days,
    maxBytes: maxMb * MB,
    now,
    keepLast: async id => {
      const row = await store.sessions.get(id)
      return row !== undefined && row.ended_as !== 'completed'
    },
  })
}
