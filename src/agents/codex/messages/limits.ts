import type { Limit } from '../../../domain/account/limit.ts'
import { type LimitEvent, recordedLimit } from '../../limits/recorded-limit.ts'
import { resetTime } from '../../limits/reset-time.ts'
import { RateLimits, type Window } from '../wire/schemas.ts'

/** The vendor names its windows by their length only. */
const NAMES: Record<number, string> = { 300: 'five_hour', 1440: 'one_day', 10080: 'seven_day' }
/** The vendor has no word for a warning; Codex itself begins to warn about here. */
const WARNS_AT = 90

/** How full the windows of the account are; nothing where none is told. */
export function limitEvent(params: unknown): LimitEvent | undefined {
  const told = RateLimits.safeParse(params).data?.rateLimits
  const windows = [told?.primary, told?.secondary].flatMap(window => (window ? [window] : []))
  const fullest = windows.reduce<Window | undefined>(
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
export function limitOf(
  message: string,
  { event, now, tz }: { event: LimitEvent | undefined; now: number; tz: string | undefined },
): Limit {
  return recordedLimit(event, { message, resetsAt: resetTime(message, { now, tz }) })
}

function nameOf({ windowDurationMins: minutes }: Window): string {
  if (!minutes) return 'unknown'
  return NAMES[minutes] ?? `${minutes}_minutes`
}

function toldOf({ usedPercent, resetsAt }: Window) {
  return { utilization: usedPercent / 100, ...(resetsAt && { resetsAt: resetsAt * 1000 }) }
}
