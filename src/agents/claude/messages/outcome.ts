import type { Failure, SessionEvent, TurnOutcome } from '../../../domain/session.ts'
import { apiFailure, LIMIT_CODE } from './failure.ts'
import type { LimitRecords } from './limit-records.ts'
import type { Result } from './wire.ts'

export type TurnEnded = Extract<SessionEvent, { kind: 'turn_ended' }>

/** What we know beside the result itself. */
export interface TurnContext {
  pausing: boolean
  interrupting: boolean
  /** The vendor's word for the last API error of the turn. */
  error: string | undefined
  /** The login was refused and the agent was stopped from trying it again. */
  refused: Failure | undefined
  limits: LimitRecords
  /** The conversation was shortened in this turn. */
  compacted: boolean
  /** The call that waits for a person, where the turn was ended for it. */
  gaveUp?: { callId: string; tool: string } | undefined
}

/**
 * How a turn ended. `subtype: "success"` means nothing by itself: API failures carry it too, and so do turns that were
 * stopped or put off. Done is `terminal_reason: "completed"` without `is_error`, and nothing else.
 */
export function turnEnded(result: Result, context: TurnContext): TurnEnded {
  const outcome = outcomeOf(result, context)
  const failure = outcome === 'failed' ? failureOf(result, context) : undefined
  const deferred = result.deferred_tool_use
  const parked = deferred
    ? { callId: deferred.id, tool: deferred.name }
    : context.gaveUp && { ...context.gaveUp, gone: true as const }
  return {
    kind: 'turn_ended',
    outcome,
    text: outcome === 'failed' ? '' : (result.result ?? ''),
    turns: result.num_turns,
    durationMs: result.duration_ms,
    denials: result.permission_denials.length,
    ...(failure && { failure }),
    ...(outcome === 'parked' && parked && { parked }),
  }
}

function isAborted({ terminal_reason }: Result): boolean {
  return terminal_reason === 'aborted_streaming' || terminal_reason === 'aborted_tools'
}

function outcomeOf(result: Result, { pausing, interrupting, compacted, gaveUp }: TurnContext): TurnOutcome {
  const { is_error, terminal_reason } = result
  // `/compact` is a command of the agent's own and no turn of the model: its result names no reason.
  if (compacted && !is_error && terminal_reason == null && result.num_turns === 0) return 'completed'
  // A conversation that is resumed with a prompt while a call of it is still put off offers that call first; put off once
  // more, its result names no reason, and the prompt would begin a turn of its own.
  if (terminal_reason == null && !is_error && result.deferred_tool_use) return 'parked'
  switch (terminal_reason) {
    case 'completed':
      return is_error ? 'failed' : 'completed'
    case 'tool_deferred':
      return is_error ? 'failed' : 'parked'
    case 'hook_stopped':
      if (gaveUp && !is_error) return 'parked'
      return pausing && !is_error ? 'paused' : 'failed'
    case 'stop_hook_prevented':
      return pausing && !is_error ? 'paused' : 'failed'
    case 'aborted_streaming':
    case 'aborted_tools':
      return interrupting ? 'interrupted' : 'failed'
    case 'max_turns':
    case 'budget_exhausted':
      return 'capped'
    default:
      return 'failed'
  }
}

function failureOf(result: Result, { error, refused, limits }: TurnContext): Failure {
  if (refused && isAborted(result)) return refused
  const told = result.result || result.errors?.join('; ')
  const message = told || `the turn ended with ${result.terminal_reason ?? 'no reason'}`
  // Seen after a resume of a conversation that was cut off in its first call: nothing was tried, so it may be tried again.
  if (!told && result.terminal_reason == null && result.num_turns === 0) return { kind: 'agent_crashed', message }
  if (result.terminal_reason === 'prompt_too_long') return { kind: 'prompt_too_long', message }
  if (result.stop_reason === 'refusal') return { kind: 'refusal', message }
  if (result.terminal_reason !== 'api_error' && !isLimited(result)) return { kind: 'other', message }
  const failure = apiFailure({ error, status: result.api_error_status, message, code: result.api_error })
  return failure.kind === 'limit' ? { ...failure, limit: limits.limitOf(result) } : failure
}

/** Whatever the vendor calls the end of such a turn one day: a limit that is missed costs the night. */
function isLimited({ is_error, api_error_status, api_error }: Result): boolean {
  return is_error && (api_error_status === 429 || api_error === LIMIT_CODE)
}
