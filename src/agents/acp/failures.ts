import * as z from 'zod'
import { messageOf } from '../../base/errors.ts'
import type { Limit } from '../../domain/limit.ts'
import type { Failure, FailureKind } from '../../domain/session.ts'
import { type LimitEvent, limitFromRecord, parseResetTime } from '../limits/reset-time.ts'
import { RpcError } from './wire.ts'

const AUTH_REQUIRED = -32000

/** By the cause that programs name beside their error. */
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

/** By the texts of programs' own errors. Only errors of the program are matched, never text of the model. */
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

/** Classifies an error by which a program answered a request. */
export function rpcFailure(error: unknown): Failure {
  const parsed = RpcError.safeParse(error).data
  if (!parsed) return { kind: 'other', message: messageOf(error) }
  const { code, data } = parsed
  const message = withDetails(parsed.message, data)
  const status = statusOf(code, message)
  const cause = z.looseObject({ errorKind: z.string() }).safeParse(data).data?.errorKind ?? ''
  const kind = kindOf({ code, cause, status, message })
  return { kind, message: kind === 'auth' ? explainLogin(message) : message, ...(status !== undefined && { status }) }
}

function kindOf({
  code,
  cause,
  status,
  message,
}: {
  code: number
  cause: string
  status: number | undefined
  message: string
}): FailureKind {
  if (code === AUTH_REQUIRED) return 'auth'
  const byCause = BY_WORD[cause]
  if (byCause === 'auth' || byCause === 'billing') return byCause
  const [form, byText] = BY_TEXT.find(([words]) => words.test(message)) ?? []
  // For these kinds the text says more than the status: a used-up account is a 429 too, and a wrong key a 400.
  if (byText === 'prompt_too_long') return byText
  if (form && (byText === 'billing' || byText === 'auth') && !isQuoted(form, { status, message })) return byText
  if (status !== undefined && BY_STATUS[status]) return BY_STATUS[status]
  // The text may quote a wrong request, and a mention of limits in that quote is no limit.
  if (status !== undefined && status < 500 && byText !== 'model_not_found') return 'other'
  // Some programs answer everything with a bare 500.
  if (byText) return byText
  return BY_WORD[cause] ?? (status !== undefined && status >= 500 ? 'server' : 'other')
}

/**
 * Whether the words may stand in a quote of the request, which holds text of the model. They close the account of every session, so
 * an error that refuses the request itself must begin with them.
 */
function isQuoted(form: RegExp, { status, message }: { status: number | undefined; message: string }): boolean {
  if (status === undefined || status >= 500 || BY_STATUS[status]) return false
  const own = message.replace(/^(Internal error: )?(API Error: ?\d* ?)?(\{.*?"message": ?")?/, '')
  return own.search(form) > 'Your prepayment '.length
}

/** Some programs use the HTTP status as the error code, others write it into the text. */
function statusOf(code: number, message: string): number | undefined {
  if (code >= 400 && code <= 599) return code
  const [, status] = /\b(?:API Error|status|Error):?\s*\(?(4\d\d|5\d\d)\b/.exec(message) ?? []
  return status === undefined ? undefined : Number(status)
}

/** Adds the details to the message: `Internal error` alone says nothing. */
function withDetails(message: string, data: unknown): string {
  const details = z.looseObject({ details: z.string() }).safeParse(data).data?.details
  const more = typeof data === 'string' ? data : details
  return more && !message.includes(more) ? `${message}: ${more}` : message
}

function explainLogin(problem: string): string {
  return `The agent is not logged in, or its login was refused (${problem}).`
}

const seconds = z.number().optional()
const Window = z.looseObject({ utilization: seconds, resetsAt: seconds, status: z.string().optional() })
/** The parts of the vendor's own record that Claude's adapter passes on. */
const RateLimit = z.looseObject({
  status: z.enum(['allowed', 'allowed_warning', 'rejected']),
  rateLimitType: z.string().optional(),
  resetsAt: seconds,
  utilization: seconds,
  unifiedWindows: z.record(z.string(), Window).optional(),
})

/** How full the windows of a subscription are, if an update says so. */
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

/** The limit that ended a turn. Without an earlier limit event, the program's own error text says when the limit is over. */
export function readTurnLimit(
  message: string,
  { event, now, tz }: { event: LimitEvent | undefined; now: number; tz: string | undefined },
): Limit {
  return limitFromRecord(event, { message, resetsAt: parseDelay(message, now) ?? parseResetTime(message, { now, tz }) })
}

/** Parses `reset after 2h3m4s` and `Suggested retry after 5400s`, as Google writes them. */
function parseDelay(message: string, now: number): number | undefined {
  const match = /(?:reset|retry) (?:after|in) (?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?/i.exec(message)
  if (!match || (match[1] === undefined && match[2] === undefined && match[3] === undefined)) return undefined
  const [hours, minutes, rest] = [match[1], match[2], match[3]].map(part => Number(part ?? 0))
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
