import { openEscalations } from '../../human/escalations.ts'
import type { Store, Tx } from '../../store/store.ts'
import type { SessionRow } from '../../store/tables.ts'
import { endLeft } from '../hosted/end-left.ts'

/**
 * Stops a session that nobody holds: paused, limited, parked, or left behind by a crash. An agent that outlived its daemon in a
 * terminal is ended before anything else, so that nobody begins beside it. What it waits for needs no answer any more. False when it was taken up again since the row was read.
 */
export async function stopWaiting(row: SessionRow, store: Store, now: number): Promise<boolean> {
  return end(row, { store, now, as: 'stopped', reason: 'stopped by a person' })
}

/** The same for one that is not to go on by itself any more. One that is paused already stays as it is. */
export async function pauseWaiting(row: SessionRow, store: Store, now: number): Promise<boolean> {
  if (row.ended_as === 'paused' && row.resumes_at === null) {
    await endLeft(row, 'pause', store)
    return true
  }
  return end(row, { store, now, as: 'paused', reason: `paused by a person; go on with: pcc resume ${row.id}` })
}

interface End {
  store: Store
  now: number
  as: 'stopped' | 'paused'
  reason: string
}

async function end(row: SessionRow, { store, now, as, reason }: End): Promise<boolean> {
  await endLeft(row, as === 'stopped' ? 'stop' : 'pause', store)
  return store.transaction(async tx => {
    const current = await store.sessions.get(row.id, tx)
    if (current?.state !== row.state || current.owner !== row.owner || current.ended_at !== row.ended_at) return false
    await tx.append([{ actor: 'human', subject: row.id, kind: 'session.ended', body: { status: as, reason } }])
    const patch = { state: 'ended', ended_as: as, status_reason: reason, ended_at: now, resumes_at: null } as const
    // An answer that is on its way to a paused session stays on its way.
    await store.sessions.update(row.id, as === 'stopped' ? { ...patch, parked: null } : patch, tx)
    if (as === 'stopped') await withdraw(row.id, { store, now, reason, tx })
    return true
  })
}

function withdraw(id: string, { store, now, reason, tx }: Omit<End, 'as'> & { tx: Tx }): Promise<void> {
  return openEscalations({ store, clock: { now: () => now } }).withdraw(id, reason, tx)
}
