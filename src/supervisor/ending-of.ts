import { ERRORS, unreachable } from '../base/errors.ts'
import { shellWord } from '../base/shell-word.ts'
import type { NewEvent } from '../domain/event.ts'
import type { Failure, SessionEvent } from '../domain/session.ts'
import type { Parked } from '../store/tables.ts'
import { isPermission } from './asks/given-answer.ts'
import { eventOf } from './events/agent-event.ts'
import type { Ending, Run } from './run.ts'

/** What the end of a turn means for its session. Only `completed` is a claim of success. */
export function endingOf(turn: Extract<SessionEvent, { kind: 'turn_ended' }>, run: Run): Ending {
  if (run.stopping !== undefined) return { as: 'stopped', reason: run.stopping }
  switch (turn.outcome) {
    case 'completed':
      return { as: 'completed', reason: '' }
    case 'paused':
      return { as: 'paused', reason: `paused; ${howToGoOn(run)}` }
    case 'interrupted':
      return { as: 'paused', reason: `interrupted; ${howToGoOn(run)}` }
    case 'capped':
      return { as: 'paused', reason: `the turn limit was reached; ${howToGoOn(run)}` }
    case 'parked':
      return parkedEnding(turn.parked?.callId, run)
    case 'failed':
      return failedEnding(turn.failure ?? { kind: 'other', message: turn.text || 'the turn failed' }, run)
    default:
      return unreachable(turn.outcome)
  }
}

/** What it means that the agent ended without ending its turn. */
export function endingOfClosed(event: Extract<SessionEvent, { kind: 'ended' }>, run: Run): Ending {
  if (run.stopping !== undefined) return { as: 'stopped', reason: run.stopping }
  if (event.failure) return failedEnding(event.failure, run)
  return failedEnding({ kind: 'agent_crashed', message: 'the agent ended in the middle of its turn' }, run)
}

/** A failure as an ending: a limit waits for its reset, everything else is an error that says what to do next. */
export function failedEnding(failure: Failure, run: Run): Ending {
  if (failure.kind !== 'limit') {
    const reason = `${failure.message}\n${adviceFor(failure, run)}`.trim()
    return { as: 'error', reason, failure: failure.kind }
  }
  const { window, resetsAt } = run.limit ?? {}
  const hit = {
    message: failure.message,
    ...(window === undefined ? {} : { window }),
    ...(resetsAt === undefined ? {} : { resets_at: resetsAt }),
  }
  return {
    as: 'rate_limited',
    reason: failure.message,
    resumesAt: resetsAt,
    events: [eventOf(run, 'limit.hit', hit)],
  }
}

function parkedEnding(callId: string | undefined, run: Run): Ending {
  const waiting = (callId === undefined ? undefined : run.parking.get(callId)) ?? [...run.parking.values()][0]
  if (!waiting) return { as: 'paused', reason: `a call was put off; ${howToGoOn(run)}` }
  const { parked, reason, escalation } = waiting
  return { as: 'waiting_input', reason, parked, escalation, events: [parkedEvent(parked, run)] }
}

function parkedEvent(parked: Parked, run: Run): NewEvent {
  if (!isPermission(parked)) return eventOf(run, 'question.parked', parked, 'daemon')
  const { digest: _, ...told } = parked
  return eventOf(run, 'permission.parked', told, 'daemon')
}

function adviceFor(failure: Failure, run: Run): string {
  switch (failure.kind) {
    case 'auth':
      return ERRORS.agent_not_logged_in.next
    case 'agent_missing':
      return ERRORS.agent_missing.next
    case 'billing':
      return "Look at the account's balance and plan, then go on."
    case 'model_not_found':
      return 'Name another model with --model.'
    case 'prompt_too_long':
      return 'Give a shorter task, or split it.'
    case 'refusal':
      return 'The model refused; say the task in other words.'
    case 'resume_unknown':
      return `See the conversations there are with: pcc agents sessions ${shellWord(run.row.project)}`
    case 'overloaded':
    case 'server':
    case 'network':
    case 'agent_crashed':
    case 'limit':
    case 'other':
      return capitalised(howToGoOn(run))
    default:
      return unreachable(failure.kind)
  }
}

function howToGoOn(run: Run): string {
  const { project, vendor_id } = run.row
  if (vendor_id === null) return 'start it again with: pcc start'
  return `go on with: pcc start ${shellWord(project)} --resume ${vendor_id} --task "…"`
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
