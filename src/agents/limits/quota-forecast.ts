import { HOUR_MS } from '../../base/clock.ts'
import { type QuotaForecast, type QuotaWindow, windowLength } from '../../domain/quota.ts'
import type { SessionUsageReports, UsageReport } from '../../store/usage-reports.ts'

/** One moment of the history of a window. */
export interface QuotaPoint {
  at: number
  /** 0 to 1. */
  utilization: number
  resets_at: number | null
}

/** Vendors move a reset by a second now and then; a new window begins hours later. */
const SAME_RESET_MS = 300_000
/** When no reset time shows it, a fall by this share is the beginning of a new window; less is noise. */
const FALL = 0.05
/** Shares of a window's length: the span that the pace is measured over (an hour of a 5-hour window), and a silence that counts as a pause. */
const HORIZON = 1 / 5
const PAUSE = 1 / 20
const LEAST_POINTS = 3
const LEAST_SPAN_MS = 60_000
/** Every pair of points is compared, so more points would be slow without being better. */
const MOST_POINTS = 120

/**
 * When a window will be full if work goes on at the recent pace. Only points since the last reset count, and of those only the
 * last stretch of work, because a pause says nothing about the pace. The slope is the median of the slopes between all pairs
 * (Theil and Sen), so that a few wrong points do not change it. Undefined when there are too few points.
 */
export function forecastQuota(points: readonly QuotaPoint[], window: string, now: number): QuotaForecast | undefined {
  const length = windowLength(window)
  const stretch = lastStretch(recent(sinceReset(points), length * HORIZON), length * PAUSE)
  const last = stretch.at(-1)
  const pace = paceOf(stretch)
  if (!last || pace === undefined) return undefined
  if (now - last.at > length * PAUSE || pace <= 0) return { per_hour: 0, full_at: null, at_reset: null }
  const level = Math.min(1, median(stretch.map(({ at, utilization }) => utilization + pace * (last.at - at))))
  const full = Math.round(last.at + (1 - level) / pace)
  const resets = last.resets_at
  if (resets === null || full < resets) return { per_hour: pace * HOUR_MS, full_at: full, at_reset: null }
  return { per_hour: pace * HOUR_MS, full_at: null, at_reset: level + pace * (resets - last.at) }
}

function sinceReset(points: readonly QuotaPoint[]): QuotaPoint[] {
  const begin = points.findLastIndex((point, index) => {
    const next = points[index + 1]
    return next !== undefined && isReset(point, next)
  })
  return points.slice(begin + 1)
}

function isReset(before: QuotaPoint, after: QuotaPoint): boolean {
  if (before.resets_at !== null && after.resets_at !== null) {
    return Math.abs(after.resets_at - before.resets_at) > SAME_RESET_MS
  }
  return before.utilization - after.utilization > FALL
}

/** The recent points, or all points when the recent ones are too few. */
function recent(points: QuotaPoint[], horizonMs: number): QuotaPoint[] {
  const end = points.at(-1)?.at ?? 0
  const recentPoints = points.filter(({ at }) => at >= end - horizonMs)
  return isEnough(recentPoints) ? recentPoints : points
}

/** The points after the last silence in which nothing was used. A silence through which the same pace goes on is only a gap in our data. */
function lastStretch(points: QuotaPoint[], pauseMs: number): QuotaPoint[] {
  for (let index = points.length - 1; index > 0; index--) {
    const [before, after] = [points[index - 1], points[index]]
    if (!before || !after || after.at - before.at <= pauseMs) continue
    const stretch = points.slice(index)
    const pace = paceOf(stretch)
    if (pace === undefined) continue
    const expected = pace * (after.at - before.at)
    if (after.utilization - before.utilization < expected / 2) return stretch
  }
  return points
}

function isEnough(points: readonly QuotaPoint[]): boolean {
  const span = (points.at(-1)?.at ?? 0) - (points[0]?.at ?? 0)
  return points.length >= LEAST_POINTS && span >= LEAST_SPAN_MS
}

/** Share of the window per millisecond. */
function paceOf(all: readonly QuotaPoint[]): number | undefined {
  if (!isEnough(all)) return undefined
  const step = Math.ceil(all.length / MOST_POINTS)
  const points = all.filter((_, index) => (all.length - 1 - index) % step === 0)
  const slopes = points.flatMap((a, index) =>
    points
      .slice(index + 1)
      .filter(b => b.at > a.at)
      .map(b => (b.utilization - a.utilization) / (b.at - a.at)),
  )
  return slopes.length === 0 ? undefined : median(slopes)
}

function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  const [low = 0, high = 0] = [sorted[sorted.length % 2 === 0 ? middle - 1 : middle], sorted[middle]]
  return (low + high) / 2
}

/** The span that `quota.max_tokens_per_hour` refers to. */
export const ESTIMATE_MS = 3_600_000

/**
 * How full the last hour is according to our own sessions and to those that hooks observe. It does not see what else uses the account nor the vendor's windows,
 * so it is only a warning. Cache reads are left out: vendors count them little or not at all.
 */
export function estimateSpending(
  { sessions, observed }: { sessions: readonly SessionUsageReports[]; observed: number },
  maxTokensPerHour: number,
  now: number,
): QuotaWindow {
  const tokens = sessions.reduce((sum, { base, reports }) => sum + spentIn(reports, base), observed)
  const utilization = tokens / maxTokensPerHour
  return { window: 'hour', utilization, resets_at: null, source: 'estimate', at: now, tokens }
}

/** Reports are totals, so the growth of each field counts. A field that fell started at zero again, with a new agent. */
function spentIn(reports: readonly UsageReport[], base: UsageReport | undefined): number {
  let [spent, before] = [0, base]
  for (const report of reports) {
    for (const field of FIELDS) spent += growth(before?.[field] ?? 0, report[field])
    before = report
  }
  return spent
}

const FIELDS = ['input_tokens', 'output_tokens', 'cache_write_tokens'] as const

function growth(before: number, after: number): number {
  return after < before ? after : after - before
}
