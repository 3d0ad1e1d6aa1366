import { sessionMarker } from '../../base/process/marker.ts'
import { sweepMarked } from '../../base/process/sweep.ts'
import { statusOf } from '../../domain/session-status.ts'
import type { SessionRow } from '../../store/tables.ts'
import { escalationsOf } from '../routes/escalations-of.ts'
import type { World } from '../world.ts'

/**
 * An earlier daemon that died should have taken its agents along (their guardians see to it). Whatever is left all the same
 * is found by the marker its session's row has kept, before anything new is started.
 */
export async function sweepLeftovers(world: World): Promise<void> {
  const { store, bootId, log } = world
  const rows = await store.sessions.list()
  let swept = 0
  for (const row of rows) {
    if (row.marker === null || row.owner === bootId) continue
    const { killed, left } = await sweepMarked(sessionMarker(row.marker))
    swept += killed.length
    if (left.length > 0) log.warn({ session: row.id, left: left.length }, 'processes could not be ended')
    else await store.sessions.update(row.id, { marker: null, agent_pid: null, agent_started: null })
  }
  for (const row of rows) if (row.state !== 'ended' && row.owner !== null) await closeLog(row, world)
  const interrupted = rows.filter(row => row.state !== 'ended').length
  if (swept > 0 || interrupted > 0) log.warn({ swept, interrupted }, 'an earlier daemon did not end cleanly')
}

/**
 * Gives the log of an interrupted session its end, once: a row without an owner has had it. The session is not settled, so
 * that it can be told from one that ended by itself; a question that was parked before is open again.
 */
async function closeLog(row: SessionRow, world: World): Promise<void> {
  const { store, bootId } = world
  const [last] = await store.events({ subject: row.id, tail: 1 })
  const isOpen = row.parked !== null
  const reason = isOpen ? 'interrupted; the question is still open' : (statusOf(row, bootId).reason ?? '')
  const status = isOpen ? 'waiting_input' : 'error'
  await store.transaction(async tx => {
    await tx.append([{ actor: 'daemon', subject: row.id, kind: 'session.ended', body: { status, reason } }])
    const waiting = { state: 'ended', ended_as: 'waiting_input', status_reason: reason } as const
    const patch = { owner: null, ended_at: last?.time ?? row.created_at, ...(isOpen && waiting) }
    await store.sessions.update(row.id, patch, tx)
    // What was asked at a terminal is asked again when the session goes on.
    if (!isOpen) await escalationsOf(world).withdraw(row.id, 'the daemon ended while it was asked', tx)
  })
}
