import * as z from 'zod'
import { messageOf } from '../../base/errors.ts'
import type { Limit } from '../../domain/limit.ts'
import type { Failure, FailureKind } from '../../domain/session.ts'
import { type LimitEvent, limitFromRecord, parseResetTime } from '../limits/reset-time.ts'
import { RpcError } from './wire.ts'

const AUTH_REQUIRED = -32000

/** Words by which programs name a cause beside their error. */
const BY_WORD: Record<string, FailureKind> = {
  authentication_failed: 'auth',
  oauth_org_not_allowed: 'auth',
  billing_error: 'billing',
  rate_limit: 'limit',
  overloaded: 'overloaded',
  model_not_found: 'model_not_found',
  server_error: 'server',
  context_length_exceeded: 'prompt_too_long',
  usage_limit_reached: 'limit',
}

const BY_STATUS: Record<number, FailureKind> = {
  401: 'auth',
  402: 'billing',
  403: 'auth',
  404: 'model_not_found',
  408: 'network',
  413: 'prompt_too_long',
  429: 'limit',
  503: 'overloaded',
  529: 'overloaded',
}

/** What programs write into their own errors. Only an error of the program is looked at: never what the model says. */
const BY_TEXT: [RegExp, FailureKind][] = [
  [/credit balance is too low|credits are depleted|insufficient_quota/i, 'billing'],
  [
    /prompt is too long|input token count.*exceeds|context_length_exceeded|context window|context exceeds/i,
    'prompt_too_long',
  ],
  [/api key not valid|invalid (x-)?api[- ]key|not logged in|authentication required|must specify .*API_KEY/i, 'auth'],
  [/overloaded/i, 'overloaded'],
  [/usage limit|hit your .*limit|quota will reset|exhausted your (capacity|daily quota)|rate limit/i, 'limit'],
  [
    /model.*(not found|does not exist)|is not found for API version|^(Internal error: )?model: \S+$/i,
    'model_not_found',
  ],
  [/fetch failed|ECONNRESET|ECONNREFUSED|socket hang up|network|connection (error|closed)|terminated/i, 'network'],
  [/internal (server )?error has occurred|internal server error/i, 'server'],
]

/** An error that a program answered a request with, as a kind. */
export function rpcFailure(error: unknown): Failure {
  const parsed = RpcError.safeParse(error).data
  if (!parsed) return { kind: 'other', message: messageOf(error) }
  const { code, data } = parsed
  const message = wordsOf(parsed.message, data)
  const status = statusOf(code, message)
  const word = z.looseObject({ errorKind: z.string() }).safeParse(data).data?.errorKind ?? ''
  const kind = kindOf({ code, word, status, message })
  return { kind, message: kind === 'auth' ? loginProblem(message) : message, ...(status !== undefined && { status }) }
}

function kindOf({
  code,
  word,
  status,
  message,
}: {
  code: number
  word: string
  status: number | undefined
  message: string
}): FailureKind {
  if (code === AUTH_REQUIRED) return 'auth'
  const byText = BY_TEXT.find(([form]) => form.test(message))?.[1]
  // The words say more than a number where the two are told: a used-up account is a 429 too, and a wrong key a 400.
  if (byText === 'billing' || byText === 'prompt_too_long' || byText === 'auth') return byText
  if (status !== undefined && BY_STATUS[status]) return BY_STATUS[status]
  // A request that was wrong may be quoted in the words, and what it says of limits is nobody's refusal.
  if (status !== undefined && status < 500 && byText !== 'model_not_found') return 'other'
  // A bare 500 is what some programs answer to everything.
  if (byText) return byText
  return BY_WORD[word] ?? (status !== undefined && status >= 500 ? 'server' : 'other')
}

/** Some programs answer with the status of HTTP as the code, others write it into the text. */
function statusOf(code: number, message: string): number | undefined {
  if (code >= 400 && code <= 599) return code
  const [, status] = /\b(?:API Error|status|Error):?\s*\(?(4\d\d|5\d\d)\b/.exec(message) ?? []
  return status === undefined ? undefined : Number(status)
}

/** `Internal error` says nothing: what stands beside it does. */
function wordsOf(message: string, data: unknown): string {
  const details = z.looseObject({ details: z.string() }).safeParse(data).data?.details
  const more = typeof data === 'string' ? data : details
  return more && !message.includes(more) ? `${message}: ${more}` : message
}

function loginProblem(told: string): string {
  return `The agent is not logged in, or its login was refused (${told}).`
}

const seconds = z.number().optional()
const Window = z.looseObject({ utilization: seconds, resetsAt: seconds, status: z.string().optional() })
/** What Claude's adapter hands on of its vendor's own record. */
const RateLimit = z.looseObject({
  status: z.enum(['allowed', 'allowed_warning', 'rejected']),
  rateLimitType: z.string().optional(),
  resetsAt: seconds,
  utilization: seconds,
  unifiedWindows: z.record(z.string(), Window).optional(),
})

/** How full the windows of a subscription are, where an update says so. */
export function readLimitEvent(meta: Record<string, unknown> | null | undefined): LimitEvent | undefined {
  const info = RateLimit.safeParse(meta?.['_claude/rateLimit']).data
  if (!info) return undefined
  const { status, rateLimitType, resetsAt, utilization, unifiedWindows } = info
  return {
    kind: 'limit',
    status: status === 'allowed_warning' ? 'warning' : status,
    ...(rateLimitType !== undefined && { window: rateLimitType }),
    ...(resetsAt !== undefined && { resetsAt: resetsAt * 1000 }),
    ...(utilization !== undefined && { utilization }),
    ...(unifiedWindows && { windows: windowsOf(unifiedWindows) }),
  }
}

/** The limit that ended a turn; where no record was told before, the program's own error says when it is over. */
export function readTurnLimit(
  message: string,
  { event, now, tz }: { event: LimitEvent | undefined; now: number; tz: string | undefined },
): Limit {
  return limitFromRecord(event, { message, resetsAt: afterDelay(message, now) ?? parseResetTime(message, { now, tz }) })
}

/** `reset after 2h3m4s`, `Suggested retry after 5400s`, as Google writes it. */
function afterDelay(message: string, now: number): number | undefined {
  const found = /(?:reset|retry) (?:after|in) (?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?/i.exec(message)
  if (!found || (found[1] === undefined && found[2] === undefined && found[3] === undefined)) return undefined
  const [hours, minutes, rest] = [found[1], found[2], found[3]].map(part => Number(part ?? 0))
  return now + ((hours ?? 0) * 3600 + (minutes ?? 0) * 60 + (rest ?? 0)) * 1000
}

function windowsOf(windows: Record<string, z.infer<typeof Window>>) {
  return Object.fromEntries(
    Object.entries(windows).map(([name, { utilization, resetsAt, status }]) => [
      name,
      {
        ...(utilization !== undefined && { utilization }),
        ...(resetsAt !== undefined && { resetsAt: resetsAt * 1000 }),
        ...(status !== undefined && { status }),
      },
    ]),
  )
}
