import type { StoredEvent } from '../../../domain/event.ts'
import { eventOf } from '../../events/agent-event.ts'
import { record } from '../../record.ts'
import type { Desk } from '../../run.ts'
import { trip } from '../trip.ts'
import { type Ended, endInTime } from './end-in-time.ts'

/** A second stall within this time is no accident any more. */
const AGAIN_MS = 6 * 3_600_000
const SOON_MS = 1_000

/**
 * Ends an agent that hangs. What it did stands in its conversation, so the first time it goes on by itself; the second time a
 * person is asked.
 */
export async function heedStall(desk: Ended, { stopped, now }: { stopped: boolean; now: number }): Promise<void> {
  const { run, parts } = desk
  const { activity, settings } = run.guards
  const waits = run.row.state === 'asking' || run.row.state === 'queued' || run.session?.takenOver === true
  if (waits) activity.seen(now)
  const sees = process.platform === 'linux'
  if (run.over || run.stopping !== undefined) return
  if (!activity.isHung(now, { waits, stopped, sees, stallMs: settings.stallMs })) return
  const silentMs = now - activity.aliveAt
  activity.seen(now) // once is enough
  const isFirst = !(await stalledBefore(desk, now))
  const reason = `The agent hangs: no sign of life for ${Math.round(silentMs / 60_000)} minutes${doing(stopped, activity.toolsInFlight)}`
  const event = eventOf(run, 'guard.tripped', { guard: 'stall', did: 'interrupted', reason }, 'daemon')
  await record(run, parts, { events: [event], patch: {} })
  const next = isFirst
    ? 'It is tried once more by itself'
    : `It hung before; look at it with: pcc logs ${run.id}, and go on with: pcc resume ${run.id}`
  trip(run, { guard: 'stall', reason, next, resumesAt: isFirst ? parts.clock.now() + SOON_MS : undefined })
  endInTime(desk)
}

function doing(stopped: boolean, tools: number): string {
  if (stopped) return ', and a process of it was stopped (SIGSTOP)'
  return tools > 0 ? ' in a tool' : ''
}

/** Since a person last made it go on. */
async function stalledBefore({ run, parts }: Desk, now: number): Promise<boolean> {
  const kinds: StoredEvent['kind'][] = ['guard.tripped', 'session.resumed']
  const events = await parts.store.events({ subject: run.id, kinds, tail: LOOKED_BACK })
  const resumed = events.findLastIndex(({ kind, actor }) => kind === 'session.resumed' && actor === 'human')
  return events
    .slice(resumed + 1)
    .some(event => event.kind === 'guard.tripped' && event.body.guard === 'stall' && event.time > now - AGAIN_MS)
}

const LOOKED_BACK = 50
