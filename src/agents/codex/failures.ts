import * as z from 'zod'
import { messageOf } from '../../base/errors.ts'
import type { Limit } from '../../domain/limit.ts'
import type { Failure, FailureKind } from '../../domain/session.ts'
import { type LimitEvent, limitFromRecord, parseResetTime } from '../limits/reset-time.ts'
import type { TurnEnd } from '../turns.ts'
import { type CodexLimitWindow, RateLimits, RpcError, type TurnError } from './wire.ts'

const BY_WORD: Record<string, FailureKind> = {
  contextWindowExceeded: 'prompt_too_long',
  usageLimitExceeded: 'limit',
  rateLimitExceeded: 'limit',
  serverOverloaded: 'overloaded',
  flexUnavailable: 'overloaded',
  policyCapacityUnavailable: 'overloaded',
  modelNotFound: 'model_not_found',
  internalServerError: 'server',
  unauthorized: 'auth',
  cyberPolicy: 'refusal',
  misalignmentPolicyViolation: 'refusal',
}

const BY_STATUS: Record<number, FailureKind> = {
  401: 'auth',
  402: 'billing',
  403: 'auth',
  404: 'model_not_found',
  413: 'prompt_too_long',
  429: 'limit',
  503: 'overloaded',
}

/** What Codex writes itself. Only errors of the program are looked at: never what the model says. */
const BY_TEXT: [RegExp, FailureKind][] = [
  [/quota exceeded|billing|insufficient_quota|credits? (balance|depleted)/i, 'billing'],
  [/context_length_exceeded|context window/i, 'prompt_too_long'],
  [/not logged in|missing environment variable|api key|login|sign in|token (was )?(revoked|expired)/i, 'auth'],
  [/experiencing high demand|internal server error/i, 'server'],
  // The vendor withheld the answer; Codex tells it as a stream that broke off, and trying again changes nothing.
  [/content_filter/i, 'refusal'],
  [/stream disconnected|error sending request|connection|network|timed? ?out/i, 'network'],
]

const Status = z.record(z.string(), z.looseObject({ httpStatusCode: z.number().nullish() }))

/** Why a turn failed, or is tried again. */
export function turnFailure({ message, codexErrorInfo: info, additionalDetails }: TurnError): Failure {
  // While it is tried again the message only counts the tries.
  const text = additionalDetails && /^Reconnecting/.test(message) ? additionalDetails : message
  const status = statusOf(info)
  const kind = kindOf(info, status, text)
  return { kind, message: kind === 'auth' ? loginProblem(text) : text, ...(status !== undefined && { status }) }
}

/** Which try it is of how many: only the words of the error count them. */
export function readRetries({ message }: TurnError): { attempt: number; maxRetries: number } {
  const [, attempt = '1', maxRetries = '1'] = /(\d+)\/(\d+)/.exec(message) ?? []
  return { attempt: Number(attempt), maxRetries: Number(maxRetries) }
}

/** How a turn ended, by what Codex tells of it and what was done to it. */
export function turnEnd(
  { status, error }: { status: string; error?: TurnError | null | undefined },
  { givenUp, isCancelled }: { givenUp: Failure | undefined; isCancelled: boolean },
): TurnEnd {
  const failure = givenUp ?? (error ? turnFailure(error) : undefined)
  if (status === 'completed') return { stopped: { stopReason: 'end_turn' } }
  if (failure) return { failure }
  if (isCancelled) return { stopped: { stopReason: 'cancelled' } }
  return { failure: { kind: 'other', message: `Codex ended the turn by itself (${status}).` } }
}

/** An error that Codex answered a request with. */
export function rpcFailure(error: unknown): Failure {
  const parsed = RpcError.safeParse(error).data
  if (!parsed) return { kind: 'other', message: messageOf(error) }
  return { kind: byText(parsed.message) ?? 'other', message: parsed.message }
}

function kindOf(info: unknown, status: number | undefined, text: string): FailureKind {
  const told = byText(text)
  // An account without credit is told like one that reached its limit; only the words tell them apart.
  if (told === 'billing' || told === 'prompt_too_long') return told
  const word = typeof info === 'string' ? BY_WORD[info] : undefined
  if (word) return word
  if (status !== undefined) return BY_STATUS[status] ?? (status >= 500 ? 'server' : (told ?? 'other'))
  return told ?? (typeof info === 'object' && info !== null ? 'network' : 'other')
}

function byText(text: string): FailureKind | undefined {
  return BY_TEXT.find(([form]) => form.test(text))?.[1]
}

function statusOf(info: unknown): number | undefined {
  const [first] = Object.values(Status.safeParse(info).data ?? {})
  return first?.httpStatusCode ?? undefined
}

function loginProblem(told: string): string {
  return `Codex is not logged in, or its login was refused (${told}).`
}

/** The vendor names its windows by their length only. */
const NAMES: Record<number, string> = { 300: 'five_hour', 1440: 'one_day', 10080: 'seven_day' }
/** The vendor has no word for a warning; Codex itself begins to warn about here. */
const WARNS_AT = 90

/** How full the windows of the account are; nothing where none is told. */
export function readLimitEvent(params: unknown): LimitEvent | undefined {
  const told = RateLimits.safeParse(params).data?.rateLimits
  const windows = [told?.primary, told?.secondary].flatMap(window => (window ? [window] : []))
  const fullest = windows.reduce<CodexLimitWindow | undefined>(
    (most, window) => (most && most.usedPercent >= window.usedPercent ? most : window),
    undefined,
  )
  if (!fullest) return undefined
  const isFull = fullest.usedPercent >= 100 || Boolean(told?.rateLimitReachedType)
  return {
    kind: 'limit',
    status: isFull ? 'rejected' : fullest.usedPercent >= WARNS_AT ? 'warning' : 'allowed',
    window: nameOf(fullest),
    ...toldOf(fullest),
    windows: Object.fromEntries(windows.map(window => [nameOf(window), toldOf(window)])),
  }
}

/** The limit that ended a turn; where no record was told before, Codex's own error says when it is over. */
export function readTurnLimit(
  message: string,
  { event, now, tz }: { event: LimitEvent | undefined; now: number; tz: string | undefined },
): Limit {
  return limitFromRecord(event, { message, resetsAt: parseResetTime(message, { now, tz }) })
}

function nameOf({ windowDurationMins: minutes }: CodexLimitWindow): string {
  if (!minutes) return 'unknown'
  return NAMES[minutes] ?? `${minutes}_minutes`
}

function toldOf({ usedPercent, resetsAt }: CodexLimitWindow) {
  return { utilization: usedPercent / 100, ...(resetsAt && { resetsAt: resetsAt * 1000 }) }
}
