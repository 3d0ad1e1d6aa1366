import { openEscalations } from '../human/escalations.ts'
import type { Store } from '../store/store.ts'
import type { SessionRow } from '../store/tables.ts'

/**
 * Stops a session that has no process: paused, limited, parked, or left behind by a crash. What it waits for needs no
 * answer any more. False when it was taken up again since the row was read.
 */
export async function stopWaiting(row: SessionRow, store: Store, now: number): Promise<boolean> {
  const reason = 'stopped by a person'
  return store.transaction(async tx => {
    const current = await store.sessions.get(row.id, tx)
    if (current?.state !== row.state || current.owner !== row.owner) return false
    await tx.append([{ actor: 'human', subject: row.id, kind: 'session.ended', body: { status: 'stopped', reason } }])
    const ended = { state: 'ended', ended_as: 'stopped', status_reason: reason, ended_at: now } as const
    await store.sessions.update(row.id, { ...ended, resumes_at: null, parked: null }, tx)
    await openEscalations({ store, clock: { now: () => now } }).withdraw(row.id, reason, tx)
    return true
  })
}
