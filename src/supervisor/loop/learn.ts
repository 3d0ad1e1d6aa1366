import { crashPoint } from '../../base/crash-point.ts'
import { startTimeOf } from '../../base/process/start-time.ts'
import type { Session, SessionEvent } from '../../domain/session.ts'
import type { LandingNote } from '../../domain/workspace/landing/landing-note.ts'
import { stepFor } from '../events/step-for.ts'
import { heed } from '../guards/heed.ts'
import { record } from '../record.ts'
import type { Desk, Parts, Run, Step } from '../run.ts'
import { saveWhenDue } from './checkpoints.ts'

/** Stores what happened, and keeps what the next decisions need to know of it. */
export async function learn(event: SessionEvent, session: Session, { run, parts }: Desk): Promise<void> {
  run.log.debug({ kind: event.kind }, 'agent event')
  if (WENT_ON.has(event.kind)) run.taken = undefined
  if (event.kind === 'retry') run.trying = true
  else if (event.kind !== 'limit') run.trying = false
  if (event.kind === 'started') crashPoint('started.before-record')
  count(event, run)
  await record(run, parts, stepFor(event, run))
  if (WENT_ON.has(event.kind)) await heard(run, parts)
  if (event.kind === 'started') {
    await record(run, parts, await processOf(session))
    crashPoint('started.after-record')
  }
  if (event.kind === 'limit') await parts.accounts.told(event, run)
  if (event.kind === 'turn_ended') {
    countOn(run)
    crashPoint('turn.before-decision')
  } else await saveWhenDue(run, parts)
  await heed(event, { run, parts })
}

/** Reading from the cache is left out, as `pcc quota` does: with every answer it is the whole conversation once more. */
function count(event: SessionEvent, { meter, before }: Run): void {
  if (event.kind === 'turn_ended') meter.saw({ turns: before.turns + event.turns })
  if (event.kind !== 'usage') return
  const { inputTokens, outputTokens, cacheWriteTokens, costUsd, turns } = event
  const rounds = turns === undefined ? {} : { turns: before.turns + turns }
  meter.saw({ tokens: inputTokens + outputTokens + cacheWriteTokens, cost_usd: costUsd, ...rounds })
}

/** Signs that the model has seen the answer to a parked question: from here on a failure is one of the work. */
const WENT_ON = new Set<SessionEvent['kind']>(['text', 'thinking', 'tool_request', 'plan'])

/** The model speaks: it has heard what was told to it in words, and it is not this session that ends daemons. */
async function heard(run: Run, parts: Parts): Promise<void> {
  const { options, recoveries, parked } = run.row
  const isTold = parked?.taken && !run.answer
  const patch = {
    ...(recoveries > 0 && { recoveries: 0 }),
    ...(isTold && { parked: null }),
    ...(options.landing?.told !== undefined && { options: { ...options, landing: heardNote(options.landing) } }),
  }
  if (Object.keys(patch).length > 0) await record(run, parts, { events: [], patch })
}

/** It has heard why its work came back. */
function heardNote({ told: _, ...note }: LandingNote): LandingNote {
  return note
}

/** The agent counts rounds anew with every turn; tokens and cost it counts from its opening. */
function countOn(run: Run): void {
  run.before = { ...run.before, turns: run.row.turns }
}

/** The agent's process, told apart from a later one of the same number by its start. */
async function processOf({ pid }: Session): Promise<Step> {
  if (pid === undefined) return { events: [], patch: {} }
  return { events: [], patch: { agent_pid: pid, agent_started: (await startTimeOf(pid)) ?? null } }
}
