import { type Moment, momentMs } from '../../scenario/moment.ts'
import type { RateLimits } from '../../scenario/schema.ts'

const PREFIX = 'anthropic-ratelimit-unified'
const SHORT = { five_hour: '5h', seven_day: '7d' } as const

/** The headers in which a subscription learns how much of its windows is used. */
export function rateLimitHeaders(limits: RateLimits, now: number): Record<string, string> {
  const headers: Record<string, string> = {
    [`${PREFIX}-status`]: limits.status,
    [`${PREFIX}-representative-claim`]: limits.representative_claim,
    [`${PREFIX}-fallback`]: 'unavailable',
  }
  for (const name of ['five_hour', 'seven_day'] as const) {
    const window = limits[name]
    if (!window) continue
    const short = `${PREFIX}-${SHORT[name]}`
    headers[`${short}-status`] = window.status
    headers[`${short}-utilization`] = String(window.utilization)
    headers[`${short}-reset`] = seconds(window.resets, now)
    if (window.surpassed_threshold !== undefined) {
      headers[`${short}-surpassed-threshold`] = String(window.surpassed_threshold)
    }
  }
  const claimed = limits.representative_claim === 'five_hour' ? limits.five_hour : limits.seven_day
  const window = claimed ?? limits.five_hour ?? limits.seven_day
  if (window) headers[`${PREFIX}-reset`] = seconds(window.resets, now)
  return headers
}

/** The headers of a subscription that is refused until `resetMs`. */
export function limitHeaders(claim: string, resetMs: number, now: number): Record<string, string> {
  const reset = Math.ceil(resetMs / 1000)
  const used = { utilization: 1, resets: reset, status: 'rejected', surpassed_threshold: 1 } as const
  const free = { utilization: 0.5, resets: reset + 86_400, status: 'allowed' } as const
  const five = claim === 'five_hour'
  return {
    ...rateLimitHeaders(
      { status: 'rejected', representative_claim: claim, five_hour: five ? used : free, seven_day: five ? free : used },
      now,
    ),
    [`${PREFIX}-overage-status`]: 'rejected',
    [`${PREFIX}-overage-disabled-reason`]: 'org_level_disabled',
    'retry-after': String(Math.max(0, reset - Math.floor(now / 1000))),
  }
}

function seconds(moment: Moment, now: number): string {
  return String(Math.ceil((momentMs(moment, now) ?? now) / 1000))
}
