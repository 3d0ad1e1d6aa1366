import * as z from 'zod'
import { messageOf } from '../../base/errors.ts'
import type { Limit } from '../../domain/limit.ts'
import { WINDOWS } from '../../domain/option-values.ts'
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

/** By texts that Codex writes itself. Only errors of the program are matched, never text of the model. */
const BY_TEXT: [RegExp, FailureKind][] = [
  [/^quota exceeded|insufficient_quota|credits? (balance|depleted)/i, 'billing'],
  [/context_length_exceeded|context window/i, 'prompt_too_long'],
  [
    /not logged in|^missing environment variable|(invalid|incorrect|missing) api key|(log|sign) in again|token (was )?(revoked|expired)/i,
    'auth',
  ],
  [/experiencing high demand|internal server error/i, 'server'],
  // The vendor withheld the answer; Codex reports it as a broken stream, and trying again changes nothing.
  [/content_filter/i, 'refusal'],
  [/stream disconnected|error sending request|connection|network|timed? ?out/i, 'network'],
]

const Status = z.record(z.string(), z.looseObject({ httpStatusCode: z.number().nullish() }))

/** Why a turn failed or is retried. */
export function turnFailure({ message, codexErrorInfo: info, additionalDetails }: TurnError): Failure {
  // During retries the message only counts the attempts.
  const text = additionalDetails && /^Reconnecting/.test(message) ? additionalDetails : message
  const status = statusOf(info)
  const kind = kindOf(info, status, text)
  return { kind, message: kind === 'auth' ? explainLogin(text) : text, ...(status !== undefined && { status }) }
}

/** The number of the attempt and of all attempts, which only the text of the error contains. */
export function readRetries({ message }: TurnError): { attempt: number; maxRetries: number } {
  const [, attempt = '1', maxRetries = '1'] = /(\d+)\/(\d+)/.exec(message) ?? []
  return { attempt: Number(attempt), maxRetries: Number(maxRetries) }
}

/** How a turn ended, from what Codex reports and from what we did to it. */
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

/** Translates an error by which Codex answered a request. */
export function rpcFailure(error: unknown): Failure {
  const parsed = RpcError.safeParse(error).data
  if (!parsed) return { kind: 'other', message: messageOf(error) }
  return { kind: kindByText(parsed.message) ?? 'other', message: parsed.message }
}

function kindOf(info: unknown, status: number | undefined, text: string): FailureKind {
  // The error of a wrong request may quote it, and so hold text of the model: that never closes the account.
  const isWrongRequest = status !== undefined && status < 500 && BY_STATUS[status] === undefined
  const found = kindByText(text)
  const textKind = isWrongRequest && (found === 'billing' || found === 'auth') ? undefined : found
  // Codex reports an account without credit like one that reached its limit; only the text tells them apart.
  if (textKind === 'billing' || textKind === 'prompt_too_long') return textKind
  const wordKind = typeof info === 'string' ? BY_WORD[info] : undefined
  if (wordKind) return wordKind
  if (status !== undefined) return BY_STATUS[status] ?? (status >= 500 ? 'server' : (textKind ?? 'other'))
  return textKind ?? (typeof info === 'object' && info !== null ? 'network' : 'other')
}

function kindByText(text: string): FailureKind | undefined {
  return BY_TEXT.find(([form]) => form.test(text))?.[1]
}

function statusOf(info: unknown): number | undefined {
  const [first] = Object.values(Status.safeParse(info).data ?? {})
  return first?.httpStatusCode ?? undefined
}

function explainLogin(problem: string): string {
  return `Codex is not logged in, or its login was refused (${problem}).`
}

/** The vendor reports no warning; Codex itself begins to warn at about this percentage. */
const WARNS_AT = 90

/** How full the windows of the account are; undefined when no window is reported. */
export function readLimitEvent(params: unknown): LimitEvent | undefined {
  const limits = RateLimits.safeParse(params).data?.rateLimits
  const windows = [limits?.primary, limits?.secondary].flatMap(window => (window ? [window] : []))
  const fullest = windows.reduce<CodexLimitWindow | undefined>(
    (most, window) => (most && most.usedPercent >= window.usedPercent ? most : window),
    undefined,
  )
  if (!fullest) return undefined
  const isFull = fullest.usedPercent >= 100 || Boolean(limits?.rateLimitReachedType)
  return {
    kind: 'limit',
    status: isFull ? 'rejected' : fullest.usedPercent >= WARNS_AT ? 'warning' : 'allowed',
    window: nameOf(fullest),
    ...readUsage(fullest),
    windows: Object.fromEntries(windows.map(window => [nameOf(window), readUsage(window)])),
  }
}

/** The limit that ended a turn. Without an earlier limit event, Codex's own error text says when the limit is over. */
export function readTurnLimit(
  message: string,
  { event, now, tz }: { event: LimitEvent | undefined; now: number; tz: string | undefined },
): Limit {
  return limitFromRecord(event, { message, resetsAt: parseResetTime(message, { now, tz }) })
}

/** The vendor names its windows by their length only. `hour` is our own count and no window of a vendor. */
function nameOf({ windowDurationMins: minutes }: CodexLimitWindow): string {
  if (!minutes) return 'unknown'
  const known = Object.entries(WINDOWS).find(([name, { hours }]) => name !== 'hour' && hours * 60 === minutes)
  return known?.[0] ?? `${minutes}_minutes`
}

function readUsage({ usedPercent, resetsAt }: CodexLimitWindow) {
  return { utilization: usedPercent / 100, ...(resetsAt && { resetsAt: resetsAt * 1000 }) }
}
