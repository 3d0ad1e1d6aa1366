import { scanChanged } from '../../agents/checkpoints/files/scan.ts'
import type { SessionEvent } from '../../domain/session.ts'
import { workDirectory } from '../../domain/workspace/work-directory.ts'
import { eventOf } from '../events/agent-event.ts'
import { record } from '../record.ts'
import type { Desk, Run, Trip } from '../run.ts'
import type { Found } from './breakers/breakers.ts'
import { trip } from './trip.ts'

/** Lets the guards hear an event, and does what they make of it. */
export async function heed(event: SessionEvent, desk: Desk): Promise<void> {
  const { run, parts } = desk
  const now = parts.clock.now()
  run.guards.activity.heard(event, now)
  for (const found of run.guards.breakers.heard(event, now)) await act(found, desk)
}

async function act(found: Found, { run, parts }: Desk): Promise<void> {
  if (run.pausing !== undefined || run.stopping !== undefined) return
  const { guard, reason } = found
  const did = 'did' in found ? found.did : 'paused'
  // A command may have changed what no call tells of: it is looked at before anything is stopped.
  if (guard === 'progress' && (await hasChanged(run))) return run.guards.breakers.changed()
  const event = eventOf(run, 'guard.tripped', { guard, did, reason }, 'daemon')
  await record(run, parts, { events: [event], patch: {} })
  if (did === 'paused') trip(run, breakerTrip(guard, reason, run))
}

/** What a breaker says to the person. */
function breakerTrip(guard: Found['guard'], reason: string, { id }: Run): Trip {
  return { guard, reason, next: `Look at it with: pcc logs ${id}; go on, with a fresh allowance: pcc resume ${id}` }
}

async function hasChanged(run: Run): Promise<boolean> {
  const since = run.guards.changesSeenAt
  run.guards.changesSeenAt = Date.now()
  const { files } = await scanChanged({ project: workDirectory(run.row), since, limits: LOOK })
  return files.length > 0
}

/** A look that nobody notices; what lies deeper than that was not found, and the session is stopped. */
const LOOK = { entries: 20_000, found: 1, ms: 500 }
