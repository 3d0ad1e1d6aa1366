import type { Store } from '../../store/store.ts'
import type { SessionRow } from '../../store/tables.ts'

const DAY_MS = 24 * 60 * 60_000
const MB = 1024 * 1024

export interface PruneEvents {
  store: Store
  days: number
  maxMb: number
  now: number
  signal: AbortSignal
}

/**
 * Removes the events of sessions that are over: those older than they are kept, and of the longest over while the database is
 * too large. What can still go on, or has something open with a person, keeps all of its own.
 */
export async function pruneEvents({ store, days, maxMb, now, signal }: PruneEvents): Promise<number> {
  const over = await overSessions(store)
  const before = now - days * DAY_MS
  let removed = await store.pruning.prune('daemon', before, signal)
  for (const { id } of over) removed += await store.pruning.prune(id, before, signal)
  for (const { id } of over) {
    if (signal.aborted || (await store.pruning.usedBytes()) <= maxMb * MB) break
    removed += await store.pruning.prune(id, now, signal)
  }
  if (removed > 0) await store.pruning.giveBack()
  return removed
}

/** Longest over first. */
async function overSessions(store: Store): Promise<SessionRow[]> {
  const open = new Set((await store.escalations.list({ states: ['open'] })).map(({ session_id }) => session_id))
  const rows = await store.sessions.list()
  return rows
    .filter(row => row.state === 'ended' && OVER.has(row.ended_as) && row.resumes_at === null && row.parked === null)
    .filter(({ id }) => !open.has(id))
    .toSorted((a, b) => (a.ended_at ?? 0) - (b.ended_at ?? 0))
}

const OVER = new Set<SessionRow['ended_as']>(['completed', 'stopped', 'error'])
