import { claudeAgent } from '../../domain/agents/claude.ts'
import type { Limit } from '../../domain/limit.ts'
import type { Failure, FailureKind, SessionEvent, TurnOutcome } from '../../domain/session.ts'
import { notLoggedIn } from '../../domain/vendors.ts'
import { parseResetTime } from '../limits/reset-time.ts'
import { type Assistant, findApiError, type RateLimit, type Result, toMilliseconds } from './messages.ts'

export type ClaudeTurnEnded = Extract<SessionEvent, { kind: 'turn_ended' }>

/** What is known of a turn beside its result. */
export interface TurnContext {
  pausing: boolean
  interrupting: boolean
  /** The vendor's name for the last API error of the turn. */
  error: string | undefined
  /** The login was refused and the agent was stopped from trying it again. */
  refused: Failure | undefined
  limits: LimitRecords
  /** The conversation was shortened in this turn. */
  compacted: boolean
  /** The call that waits for a person, if the turn was ended because of it. */
  gaveUp?: { callId: string; tool: string } | undefined
}

/**
 * How a turn ended. `subtype: "success"` means nothing by itself: API failures carry it too, and so do turns that were
 * stopped or deferred. Only `terminal_reason: "completed"` without `is_error` means that the turn is done.
 */
export function turnEnded(result: Result, context: TurnContext): ClaudeTurnEnded {
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
  // `/compact` is a command of the agent itself and no turn of the model: its result names no reason.
  if (compacted && !is_error && terminal_reason == null && result.num_turns === 0) return 'completed'
  // A conversation that is resumed with a prompt while one of its calls is still deferred offers that call first. When the
  // call is deferred again, the result names no reason, and the prompt would begin a turn of its own.
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
  const text = result.result || result.errors?.join('; ')
  const message = text || `the turn ended with ${result.terminal_reason ?? 'no reason'}`
  // Seen after resuming a conversation that was cut off in its first call: nothing was tried, so it may be tried again.
  if (!text && result.terminal_reason == null && result.num_turns === 0) return { kind: 'agent_crashed', message }
  if (result.terminal_reason === 'prompt_too_long') return { kind: 'prompt_too_long', message }
  if (result.stop_reason === 'refusal') return { kind: 'refusal', message }
  if (result.terminal_reason !== 'api_error' && !isLimited(result)) return { kind: 'other', message }
  const failure = apiFailure({ error, status: result.api_error_status, message, code: result.api_error })
  return failure.kind === 'limit' ? { ...failure, limit: limits.limitOf(result) } : failure
}

/** Recognizes a limit whatever `terminal_reason` says: a limit that is missed costs a whole night. */
function isLimited({ is_error, api_error_status, api_error }: Result): boolean {
  return is_error && (api_error_status === 429 || api_error === LIMIT_CODE)
}

/** By the vendor's error names (`error` of an assistant message or a retry). */
const BY_ERROR: Record<string, FailureKind> = {
  authentication_failed: 'auth',
  oauth_org_not_allowed: 'auth',
  account_on_hold: 'auth',
  verification_required: 'auth',
  cloud_credential_error: 'auth',
  billing_error: 'billing',
  rate_limit: 'limit',
  overloaded: 'overloaded',
  model_not_found: 'model_not_found',
  server_error: 'server',
}

/** By HTTP status, where it says more than the name: the vendor calls an overload a server error. */
const BY_STATUS: Record<number, FailureKind> = {
  401: 'auth',
  402: 'billing',
  403: 'auth',
  429: 'limit',
  529: 'overloaded',
}

/** The code of a result whose account has used up its allowance. */
const LIMIT_CODE = 'usage_limit_reached'

export interface ClaudeApiError {
  error?: string | undefined
  status?: number | null | undefined
  message?: string | undefined
  /** The vendor's own code, if the result has one. */
  code?: string | null | undefined
}

/** Classifies a failure of the vendor's API. */
export function apiFailure({ error = 'unknown', status, message, code }: ClaudeApiError): Failure {
  const kind = code === LIMIT_CODE ? 'limit' : kindOf(error, status ?? undefined)
  return {
    kind,
    message:
      kind === 'auth'
        ? explainLogin(message || error, status ?? undefined)
        : message || `the vendor's API failed (${error})`,
    ...(typeof status === 'number' && { status }),
  }
}

function kindOf(error: string, status: number | undefined): FailureKind {
  // Without a status no answer came at all, whatever the vendor calls the error.
  if (status === undefined) return error === 'server_error' ? 'network' : (BY_ERROR[error] ?? 'network')
  return BY_STATUS[status] ?? BY_ERROR[error] ?? (status >= 500 ? 'server' : 'other')
}

/** The vendor says "Please run /login", which nobody can do here; the code that shows the failure says what helps. */
function explainLogin(problem: string, status: number | undefined): string {
  return status === undefined ? notLoggedIn(claudeAgent).message : `The login was refused (${problem}).`
}

type Info = RateLimit['rate_limit_info']

/** The clock and time zone of the machine that the agent runs on: its messages depend on them. */
export interface AgentClock {
  now(): number
  /** `TZ` of the agent's environment. */
  tz?: string | undefined
}

/**
 * What the vendor's own records of one turn say about a limit. Three kinds count: the rate limit event, the message that
 * Claude Code itself writes in the model's place, and the result. None of them can hold text of the model, of a tool or of a
 * file: those come in blocks of content, which are never read here. A turn that did not fail met no limit, whatever its
 * records say.
 */
export class LimitRecords {
  readonly #clock: AgentClock
  #rejected: Info | undefined
  #message: { text: string; at: number } | undefined

  constructor(clock: AgentClock) {
    this.#clock = clock
  }

  event({ rate_limit_info: info }: RateLimit): void {
    this.#rejected = info.status === 'rejected' ? info : undefined
  }

  assistant(message: Assistant): void {
    this.#message = undefined
    if (findApiError(message) !== 'rate_limit') return
    const text = message.message.content.flatMap(block => (block.type === 'text' ? (block.text ?? '') : [])).join('\n')
    const at = Date.parse(message.timestamp ?? '')
    this.#message = { text, at: Number.isNaN(at) ? this.#clock.now() : at }
    const info = message.api_error_params?.rate_limit_info
    if (info?.status === 'rejected') this.#rejected ??= info
  }

  /** The limit that ended a turn. The caller knows that the turn failed by a limit. */
  limitOf(result: Result): Limit {
    const message = result.result || this.#message?.text || 'the vendor refused the request for now'
    const window = this.#rejected?.rateLimitType
    const rejected = { ...(window !== undefined && { window }), message }
    const resetsAt = this.#rejected?.resetsAt
    if (resetsAt !== undefined) return { ...rejected, resetsAt: toMilliseconds(resetsAt), source: 'event' }
    const parsed = this.#message && parseResetTime(this.#message.text, { now: this.#message.at, tz: this.#clock.tz })
    if (parsed !== undefined) return { ...rejected, resetsAt: parsed, source: 'message' }
    return { ...rejected, source: this.#rejected ? 'event' : 'result' }
  }

  forget(): void {
    this.#rejected = undefined
    this.#message = undefined
  }
}
