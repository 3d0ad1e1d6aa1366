import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { defaultValues } from '../../src/domain/config/settings.ts'
import {
  findCriticalReset,
  isCurrent,
  levelAt,
  levelOf,
  type QuotaLevel,
  type QuotaWindow,
  startsAllowed,
  windowLength,
  windowsIn,
} from '../../src/domain/quota.ts'

const NOW = Date.UTC(2026, 0, 13, 12)
const HOUR = 3_600_000
const settings = defaultValues()
const DEFAULT_THRESHOLDS = {
  notice: settings['quota.notice_percent'],
  warning: settings['quota.warning_percent'],
  critical: settings['quota.critical_percent'],
}

function used(utilization: number, more: Partial<QuotaWindow> = {}): QuotaWindow {
  return { window: 'five_hour', utilization, resets_at: NOW + HOUR, source: 'vendor', at: NOW, ...more }
}

test('levels begin at 50, 85 and 90 percent', () => {
  const levels: [number, QuotaLevel][] = [
    [0, 'ok'],
    [0.499, 'ok'],
    [0.5, 'notice'],
    [0.849, 'notice'],
    [0.85, 'warning'],
    [0.899, 'warning'],
    [0.9, 'critical'],
    [0.1 + 0.2 + 0.6, 'critical'],
    [1.4, 'critical'],
  ]
  for (const [utilization, level] of levels) assert.equal(levelOf([used(utilization)], DEFAULT_THRESHOLDS, NOW), level)
})

test('a window is as long as its name says, also where only its minutes are known', () => {
  const lengths = { hour: 1, five_hour: 5, one_day: 24, seven_day: 168, seven_day_opus: 168, seven_day_next: 168 }
  for (const [window, hours] of Object.entries(lengths)) assert.equal(windowLength(window), hours * HOUR, window)
  assert.equal(windowLength('43200_minutes'), 720 * HOUR)
  for (const window of ['0_minutes', 'monthly', 'constructor']) assert.equal(windowLength(window), 5 * HOUR, window)
})

test('percentages are exact in spite of floating-point errors', () => {
  assert.equal(levelAt(0.57, { ...DEFAULT_THRESHOLDS, notice: 57 }), 'notice')
  assert.equal(levelAt(0.28999, { ...DEFAULT_THRESHOLDS, notice: 29 }), 'ok')
})

test('the fullest window decides', () => {
  const windows = [used(0.1), used(0.95, { window: 'seven_day' })]
  assert.equal(levelOf(windows, DEFAULT_THRESHOLDS, NOW), 'critical')
})

test('a window after its reset is unknown, and so is an account without reports', () => {
  assert.equal(levelOf([], DEFAULT_THRESHOLDS, NOW), 'unknown')
  assert.equal(levelOf([used(0.99, { resets_at: NOW })], DEFAULT_THRESHOLDS, NOW), 'unknown')
  assert.equal(levelOf([used(0.99, { resets_at: NOW }), used(0.6)], DEFAULT_THRESHOLDS, NOW), 'notice')
})

test('a report without a reset counts for half an hour', () => {
  const full = used(1, { resets_at: null })
  assert.equal(isCurrent(full, NOW + HOUR / 2 - 1), true)
  assert.equal(isCurrent(full, NOW + HOUR / 2), false)
})

test('an estimate counts only if the person allowed it', () => {
  const guess = used(2, { source: 'estimate', window: 'hour', resets_at: null })
  assert.equal(levelOf([guess], DEFAULT_THRESHOLDS, NOW), 'unknown')
  assert.equal(levelOf([guess], { ...DEFAULT_THRESHOLDS, gateOnEstimate: true }, NOW), 'critical')
})

test('the closer the limit, the fewer sessions start; an unknown quota holds nothing back', () => {
  const allowed = (max: number) =>
    (['unknown', 'ok', 'notice', 'warning', 'critical'] as const).map(level => startsAllowed(level, max))
  assert.deepEqual(allowed(5), [5, 5, 3, 1, 0])
  assert.deepEqual(allowed(1), [1, 1, 1, 1, 0])
})

test('higher use never lets more sessions start', () => {
  const share = fc.double({ min: 0, max: 2, noNaN: true })
  fc.assert(
    fc.property(share, share, fc.integer({ min: 1, max: 50 }), (a, b, max) => {
      const starts = (utilization: number) => startsAllowed(levelAt(utilization, DEFAULT_THRESHOLDS), max)
      assert.ok(starts(Math.max(a, b)) <= starts(Math.min(a, b)))
    }),
  )
})

test('a critical account eases at the last reset of its critical windows', () => {
  const week = used(0.95, { window: 'seven_day', resets_at: NOW + 50 * HOUR })
  assert.equal(findCriticalReset([used(0.95), week], DEFAULT_THRESHOLDS, NOW), NOW + 50 * HOUR)
  assert.equal(findCriticalReset([used(0.95), { ...week, utilization: 0.4 }], DEFAULT_THRESHOLDS, NOW), NOW + HOUR)
  assert.equal(findCriticalReset([used(0.2)], DEFAULT_THRESHOLDS, NOW), undefined)
})

test('an event of the vendor is read window by window', () => {
  const windows = { five_hour: { utilization: 0.91, resetsAt: NOW + HOUR }, seven_day: { utilization: 0.42 } }
  assert.deepEqual(windowsIn({ kind: 'limit', status: 'allowed', windows }, NOW), [
    used(0.91),
    used(0.42, { window: 'seven_day', resets_at: null }),
  ])
})

test('an event with only its own window is read too; without a number it says nothing', () => {
  const event = { kind: 'limit', status: 'warning', window: 'five_hour', resetsAt: NOW + HOUR } as const
  assert.deepEqual(windowsIn({ ...event, utilization: 0.88 }, NOW), [used(0.88)])
  assert.deepEqual(windowsIn(event, NOW), [])
  assert.deepEqual(windowsIn({ kind: 'limit', status: 'allowed' }, NOW), [])
})

test('a refusal is a full window until its reset; without a reset it is left to the account gate', () => {
  const event = { kind: 'limit', status: 'rejected', window: 'five_hour' } as const
  const windows = { five_hour: { utilization: 0.97, resetsAt: NOW + HOUR } }
  assert.deepEqual(windowsIn({ ...event, windows }, NOW), [used(1)])
  assert.deepEqual(windowsIn({ ...event, resetsAt: NOW + HOUR }, NOW), [used(1)])
  assert.deepEqual(windowsIn(event, NOW), [])
})
