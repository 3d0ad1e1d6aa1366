import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Marker, sessionMarker } from '../../../src/base/process/marker.ts'
import { findMarked } from '../../../src/base/process/sweep.ts'

/** Waits for the process that is started ahead of time for a session: only the process table shows it. */
export async function warmProcess(database: string, id: string): Promise<Marker> {
  const marker = sessionMarker(markerOf(database, id))
  const deadline = Date.now() + 90_000
  while ((await findMarked(marker)).length === 0) {
    assert.ok(Date.now() < deadline, 'no warm process came in 90 s')
    await sleep(20)
  }
  return marker
}

function markerOf(database: string, id: string): string {
  using db = new DatabaseSync(database, { readOnly: true })
  const marker = db.prepare('select marker from sessions where id = ?').get(id)?.['marker']
  assert.ok(typeof marker === 'string' && marker !== '', 'a session that has not ended has a marker')
  return marker
}
