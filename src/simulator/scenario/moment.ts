const UNITS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }
const RELATIVE = /^\+(\d+(?:\.\d+)?)(ms|s|m|h|d)$/

/** A point in time as a scenario writes it: `+90s` (from `now`), an ISO date, or seconds since the epoch. */
export type Moment = string | number

/** The milliseconds since the epoch that a moment means, or undefined when it is not a moment. */
export function momentMs(moment: Moment, now: number): number | undefined {
  if (typeof moment === 'number') return moment * 1000
  const relative = RELATIVE.exec(moment)
  if (relative) return now + Number(relative[1]) * (UNITS[relative[2] ?? ''] ?? 0)
  const absolute = /^\d{4}-\d\d-\d\d/.test(moment) ? Date.parse(moment) : Number.NaN
  return Number.isNaN(absolute) ? undefined : absolute
}
