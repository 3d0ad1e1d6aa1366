import { DAY_MS, MINUTE_MS } from '../../base/clock.ts'
import { type Hours, readHours } from '../../domain/hours.ts'
import type { AccountGate } from '../../domain/limit.ts'
import { type OffsetPeriod, offsetPeriods, resolveTimeZone } from './reset-time.ts'

/** Hours that a change of clocks skips on one day come again the next day. */
const SEARCH_MS = 3 * DAY_MS

export interface ResumeConsent {
  autoResume: boolean
  /** `22:00-07:00`, or several separated by commas: the hours in which work may go on by itself. Without it, all hours. */
  hours?: string | undefined
  /** The time zone of the hours; without it the machine's. */
  zone?: string | undefined
}

/** The first moment from `at` on at which work may go on by itself, as the person agreed; null if never. */
export function nextAllowedTime(at: number, { autoResume, hours, zone }: ResumeConsent): number | null {
  if (!autoResume) return null
  const ranges = hours === undefined ? undefined : readHours(hours)
  if (hours === undefined) return at
  if (!ranges) return null
  for (const period of offsetPeriods(resolveTimeZone(zone), at, at + SEARCH_MS)) {
    const moments = ranges.flatMap(range => firstIn(range, period) ?? [])
    if (moments.length > 0) return Math.min(...moments)
  }
  return null
}

/** The first moment of a period at which the wall clock is within the hours. */
function firstIn({ from, to }: Hours, { from: start, to: end, offset }: OffsetPeriod): number | undefined {
  const wall = start + offset
  const midnight = Math.floor(wall / DAY_MS) * DAY_MS
  const lengthMs = (to > from ? to - from : to - from + 1440) * MINUTE_MS
  for (let day = midnight - DAY_MS; day < end + offset; day += DAY_MS) {
    const opens = day + from * MINUTE_MS
    const moment = Math.max(opens, wall)
    if (moment < opens + lengthMs && moment < end + offset) return moment - offset
  }
  return undefined
}

/** The vendor's clock and ours differ by a second or two. */
const AFTER_RESET_MS = 2000
const FIRST_WITHIN_MS = 3000
/** The distance between sessions, so that the first can find that the account is still closed before the others try. */
const APART_MS = 8000
/** All sessions are back within 90 s of the reset, however many there are. */
const SPAN_MS = 80_000
/** How far the session that tries a gate is ahead of the others: in this time its agent must start, ask and be refused. */
const AHEAD_MS = 30_000

export interface GatedSession {
  id: string
  created_at: number
  priority: number
}

/** When each session that waits at a gate goes on: the higher priority first, then the older, with some distance between them. */
export function resumeTimes(
  gate: Pick<AccountGate, 'closed_until'>,
  waiting: readonly GatedSession[],
  random: () => number,
): Map<string, number> {
  const first = (gate.closed_until ?? 0) + AFTER_RESET_MS + Math.round(FIRST_WITHIN_MS * random())
  const apartMs = Math.min(APART_MS, SPAN_MS / Math.max(1, waiting.length - 1))
  return new Map(
    waiting.toSorted(soonerFirst).map(({ id }, position) => {
      const jitter = position === 0 ? 0 : apartMs * 0.5 * random()
      return [id, first + Math.round(position * apartMs + jitter)]
    }),
  )
}

/** The times for a gate that a person wants to try now: one session goes on at once, the others after it has had its answer. */
export function trialTimes(now: number, waiting: readonly GatedSession[], random: () => number): Map<string, number> {
  const [first, ...others] = waiting.toSorted(soonerFirst)
  if (!first) return new Map()
  return new Map([[first.id, now], ...resumeTimes({ closed_until: now + AHEAD_MS }, others, random)])
}

function soonerFirst(a: GatedSession, b: GatedSession): number {
  return b.priority - a.priority || a.created_at - b.created_at || (a.id < b.id ? -1 : 1)
}
