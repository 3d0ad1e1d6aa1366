import { sessionMarker } from '../../base/process/marker.ts'
import { sweepMarked } from '../../base/process/sweep.ts'
import type { World } from '../world.ts'

/**
 * An earlier daemon that died should have taken its agents along (their guardians see to it). Whatever is left all the same
 * is found by the marker its session's row has kept, before anything new is started.
 */
export async function sweepLeftovers({ store, bootId, log }: World): Promise<void> {
  const rows = await store.sessions.list()
  let swept = 0
  for (const row of rows) {
    if (row.marker === null || row.owner === bootId) continue
    const { killed, left } = await sweepMarked(sessionMarker(row.marker))
    swept += killed.length
    if (left.length > 0) log.warn({ session: row.id, left: left.length }, 'processes could not be ended')
    else await store.sessions.update(row.id, { marker: null, agent_pid: null, agent_started: null })
  }
  const interrupted = rows.filter(row => row.state !== 'ended').length
  if (swept > 0 || interrupted > 0) log.warn({ swept, interrupted }, 'an earlier daemon did not end cleanly')
}
