import type { Store } from '../store/store.ts'
import type { SessionRow } from '../store/tables.ts'

/** Stops a session that has no process: paused, limited, parked, or left behind by a crash. */
export async function stopWaiting(row: SessionRow, store: Store, now: number): Promise<void> {
  const reason = 'stopped by a person'
  await store.transaction(async tx => {
    await tx.append([{ actor: 'human', subject: row.id, kind: 'session.ended', body: { status: 'stopped', reason } }])
    const ended = { state: 'ended', ended_as: 'stopped', status_reason: reason, ended_at: now } as const
    await store.sessions.update(row.id, { ...ended, resumes_at: null, parked: null }, tx)
  })
}
