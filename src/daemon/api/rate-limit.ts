import { AppError } from '../../base/errors.ts'

/** How many callers are remembered; the ones that were quiet longest are forgotten first. */
const MOST_CALLERS = 10_000
/** A caller that was quiet may send the requests of this part of a minute at once. */
const BURST = 1 / 6

export interface CallerLimit {
  /** Counts a request. Throws `too_many_requests` with the seconds after which the next one is taken. */
  count(who: string): void
}

/** Lets each caller send so many requests in a minute, evenly; 0 means any number. */
export function openRateLimit(perMinute: number, now: () => number = Date.now): CallerLimit {
  const most = Math.max(1, perMinute * BURST)
  const callers = new Map<string, { left: number; at: number }>()
  return {
    count(who) {
      if (perMinute === 0) return
      const at = now()
      const before = callers.get(who) ?? { left: most, at }
      const left = Math.min(most, before.left + ((at - before.at) / 60_000) * perMinute)
      callers.delete(who)
      callers.set(who, { left: left >= 1 ? left - 1 : left, at })
      if (callers.size > MOST_CALLERS) callers.delete(callers.keys().next().value ?? '')
      if (left >= 1) return
      const seconds = Math.max(1, Math.ceil(((1 - left) / perMinute) * 60))
      throw new AppError('too_many_requests', { who, limit: perMinute, seconds })
    },
  }
}
