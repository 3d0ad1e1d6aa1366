import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { forecastQuota, type QuotaPoint } from '../../../src/agents/limits/quota-forecast.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const START = Date.UTC(2026, 0, 13, 12)
const RESET = START + 5 * HOUR

/** A point every few minutes, with `used(minute)` of the window each. */
function series(minutes: number, used: (minute: number) => number, options: { step?: number; reset?: number } = {}) {
  const { step = 1, reset = RESET } = options
  const points: QuotaPoint[] = []
  for (let minute = 0; minute <= minutes; minute += step) {
    points.push({ at: START + minute * MINUTE, utilization: used(minute), resets_at: reset })
  }
  return points
}

/** The forecast is right within a tenth of the time that is left. */
function assertNear(points: QuotaPoint[], truth: number, window = 'five_hour'): void {
  const now = points.at(-1)?.at ?? 0
  const forecast = forecastQuota(points, window, now)
  assert.ok(forecast?.full_at, 'there is a forecast')
  const off = Math.abs(forecast.full_at - truth) / (truth - now)
  assert.ok(off <= 0.1, `off by ${(off * 100).toFixed(1)} %: ${new Date(forecast.full_at).toISOString()}`)
}

/** Numbers that look random and are the same each time. */
function noise(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return state / 2_147_483_648 - 0.5
  }
}

test('steady use is forecast to the minute', () => {
  const points = series(60, minute => 0.2 + minute * 0.005)
  assert.deepEqual(forecastQuota(points, 'five_hour', START + HOUR), {
    per_hour: forecastQuota(points, 'five_hour', START + HOUR)?.per_hour,
    full_at: START + 160 * MINUTE,
    at_reset: null,
  })
  assert.ok(Math.abs((forecastQuota(points, 'five_hour', START + HOUR)?.per_hour ?? 0) - 0.3) < 1e-9)
})

test('the forecast of a scripted series is within a tenth, whatever stands in its way', () => {
  const jitter = noise(7)
  const steady = (minute: number) => 0.1 + minute * 0.006
  const full = START + 150 * MINUTE
  assertNear(series(80, steady), full)
  assertNear(
    series(80, minute => Math.round(steady(minute) * 100) / 100),
    full,
  ) // whole percents
  assertNear(
    series(80, minute => steady(minute) + jitter() * 0.04),
    full,
  ) // noise of 2 % up and down
  assertNear(
    series(80, minute => (minute % 17 === 0 ? 0.99 : steady(minute))),
    full,
  ) // wrong points
  assertNear(
    series(80, steady).filter(({ at }) => at < START + 30 * MINUTE || at > START + 65 * MINUTE),
    full,
  ) // a gap without data
})

test('what was used before the last reset does not count', () => {
  const before = series(100, minute => 0.3 + minute * 0.007, { reset: START + 101 * MINUTE })
  const after = series(40, minute => minute * 0.01, { reset: START + 401 * MINUTE }).map(point => ({
    ...point,
    at: point.at + 102 * MINUTE,
  }))
  assertNear([...before, ...after], START + 202 * MINUTE)
  const untold = [...before, ...after].map(point => ({ ...point, resets_at: null }))
  assertNear(untold, START + 202 * MINUTE)
})

test('a pause says nothing about the pace: the last stretch of work does', () => {
  const slow = series(20, minute => 0.1 + minute * 0.001)
  const fast = series(15, minute => 0.12 + minute * 0.01).map(point => ({ ...point, at: point.at + 60 * MINUTE }))
  assertNear([...slow, ...fast], START + 60 * MINUTE + 88 * MINUTE)
  const soon = fast.map(point => ({ ...point, at: point.at - 20 * MINUTE }))
  assertNear([...slow, ...soon], START + 40 * MINUTE + 88 * MINUTE)
})

test('a pace that changed is that of the last hour', () => {
  const points = series(180, minute => (minute <= 120 ? minute * 0.001 : 0.12 + (minute - 120) * 0.008))
  assertNear(points, START + 230 * MINUTE)
})

test('a few wrong points at the end do not move it', () => {
  const wrong = [76, 78, 79]
  const points = series(80, minute => (wrong.includes(minute) ? 0.98 : 0.1 + minute * 0.006))
  assertNear(points, START + 150 * MINUTE)
})

test('a window that resets before it is full says how full it will be then', () => {
  const forecast = forecastQuota(
    series(60, minute => minute * 0.002),
    'five_hour',
    START + HOUR,
  )
  assert.equal(forecast?.full_at, null)
  assert.ok(Math.abs((forecast?.at_reset ?? 0) - 0.6) < 0.001)
})

test('where nothing was used of late, nothing is forecast', () => {
  const nothing = { per_hour: 0, full_at: null, at_reset: null }
  assert.deepEqual(
    forecastQuota(
      series(60, () => 0.4),
      'five_hour',
      START + HOUR,
    ),
    nothing,
  )
  const busy = series(60, minute => minute * 0.005)
  assert.deepEqual(forecastQuota(busy, 'five_hour', START + 2 * HOUR), nothing)
})

test('two points, or points of one moment, are too little to say anything', () => {
  assert.equal(forecastQuota([], 'five_hour', START), undefined)
  const [a, b] = series(1, minute => minute * 0.01)
  assert.ok(a && b)
  assert.equal(forecastQuota([a, b], 'five_hour', b.at), undefined)
  assert.equal(forecastQuota([a, a, a, a], 'five_hour', a.at), undefined)
})

test('a week is forecast by the pace of the last day and more', () => {
  const hourly = series(60 * 60, minute => 0.2 + (minute / 60) * 0.01, { step: 30, reset: START + 7 * 24 * HOUR })
  assertNear(hourly, START + 80 * HOUR, 'seven_day')
})

test('any rising line is forecast within a tenth, with noise or without, and never in the past', () => {
  fc.assert(
    fc.property(
      fc.double({ min: 0, max: 0.5, noNaN: true }),
      fc.double({ min: 0.002, max: 0.02, noNaN: true }),
      fc.integer({ min: 10, max: 300 }),
      fc.integer({ min: 1, max: 1_000_000 }),
      (from, pace, minutes, seed) => {
        const jitter = noise(seed)
        const length = Math.min(minutes, Math.floor((0.9 - from) / pace))
        fc.pre(length >= 10)
        const rise = pace * length
        const reset = START + 1000 * HOUR
        const points = series(length, minute => from + minute * pace + jitter() * rise * 0.02, { reset })
        const now = START + length * MINUTE
        const forecast = forecastQuota(points, 'five_hour', now)
        const truth = START + ((1 - from) / pace) * MINUTE
        assert.ok(forecast?.full_at && forecast.full_at >= now)
        assert.ok(Math.abs(forecast.full_at - truth) <= 0.1 * (truth - now) + MINUTE)
      },
    ),
  )
})
