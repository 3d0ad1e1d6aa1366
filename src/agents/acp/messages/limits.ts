import * as z from 'zod'
import type { Limit } from '../../../domain/account/limit.ts'
import { type LimitEvent, recordedLimit } from '../../limits/recorded-limit.ts'
import { resetTime } from '../../limits/reset-time.ts'

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
export function limitEvent(meta: Record<string, unknown> | null | undefined): LimitEvent | undefined {
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
export function limitOf(
  message: string,
  { event, now, tz }: { event: LimitEvent | undefined; now: number; tz: string | undefined },
): Limit {
  return recordedLimit(event, { message, resetsAt: afterDelay(message, now) ?? resetTime(message, { now, tz }) })
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
