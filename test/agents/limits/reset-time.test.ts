import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { parseResetTime } from '../../../src/agents/limits/reset-time.ts'

const NOW = Date.parse('2026-11-15T05:47:00Z')
const MINUTE_MS = 60_000

const TOLD: [string, string | undefined][] = [
  ["You've hit your 5-hour limit · resets 7:37am (UTC)", '2026-11-15T07:37:00Z'],
  ["You've hit your 5-hour limit · resets 3:37am (UTC)", '2026-11-16T03:37:00Z'],
  ['5-hour limit reached ∙ resets 3am', '2026-11-15T18:00:00Z'],
  ['resets 12am (UTC)', '2026-11-16T00:00:00Z'],
  ['resets 12pm (UTC)', '2026-11-15T12:00:00Z'],
  ['resets 12:30 a.m. (UTC)', '2026-11-16T00:30:00Z'],
  ['resets 3:37\u202fAM (UTC)', '2026-11-16T03:37:00Z'],
  ['resets at 15:00', '2026-11-15T06:00:00Z'],
  ['Your limit will reset at 3pm (America/New_York).', '2026-11-15T20:00:00Z'],
  ["You've hit your usage limit. Please try again at 3:56 PM.", '2026-11-15T06:56:00Z'],
  ['resets Nov 20, 3am (Europe/Berlin)', '2026-11-20T02:00:00Z'],
  ['resets Nov 20 at 3:15pm (Europe/Berlin)', '2026-11-20T14:15:00Z'],
  ['resets November 20th, 2026, 15:00 (Asia/Kathmandu)', '2026-11-20T09:15:00Z'],
  ['resets Jan 1, 2030, 12am (UTC)', '2030-01-01T00:00:00Z'],
  ['resets Jan 2, 9am (America/New_York)', '2027-01-02T14:00:00Z'],
  ['resets Nov 14, 9am (UTC)', '2026-11-14T09:00:00Z'],
  ['resets in 2h 15m', '2026-11-15T08:02:00Z'],
  ['resets in 1 day, 2 hours and 3 minutes', '2026-11-16T07:50:00Z'],
  ['resets 2026-11-20T03:00:00+01:00', '2026-11-20T02:00:00Z'],
  ['Claude AI usage limit reached|1893456000', '2030-01-01T00:00:00Z'],
  ['resets 5:45am (UTC)', '2026-11-15T05:45:00Z'],
  ['resets 3am (Not/A_Zone)', '2026-11-15T18:00:00Z'],
  ["You've hit your 5-hour limit", undefined],
  ['resets soon', undefined],
  ['resets 25:00', undefined],
  ['resets 13pm', undefined],
  ['resets 3:75am', undefined],
  ['resets Feb 30, 3am (UTC)', undefined],
  ['resets Nov 20', undefined],
  ['resets 2026-99-99T03:00:00Z', undefined],
  [`resets in ${'9'.repeat(400)}d`, undefined],
  ['the presets 3am', undefined],
  ['', undefined],
]
for (const [message, expected] of TOLD) {
  test(`"${message}" ${expected === undefined ? 'says no time' : `means ${expected}`}`, () => {
    const found = parseResetTime(message, { now: NOW, tz: 'Asia/Tokyo' })
    assert.equal(found, expected === undefined ? undefined : Date.parse(expected))
  })
}

test('a time that the clocks show twice means the first that is still to come', () => {
  // On 25 October 2026 the clocks of Berlin go from 3:00 back to 2:00, at 01:00Z.
  const message = 'resets 2:30am (Europe/Berlin)'
  assert.equal(parseResetTime(message, { now: Date.parse('2026-10-24T23:00Z') }), Date.parse('2026-10-25T00:30Z'))
  assert.equal(parseResetTime(message, { now: Date.parse('2026-10-25T00:45Z') }), Date.parse('2026-10-25T01:30Z'))
})

test('a time that the clocks leave out means the moment at which it would have come', () => {
  // On 29 March 2026 they go from 2:00 to 3:00, at 01:00Z.
  const message = 'resets 2:30am (Europe/Berlin)'
  assert.equal(parseResetTime(message, { now: Date.parse('2026-03-29T00:00Z') }), Date.parse('2026-03-29T01:30Z'))
})

test('a reset told as the vendor tells it is found again, in any zone and across changes of clocks', () => {
  const zones = fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kathmandu', 'Australia/Lord_Howe')
  const moment = fc.integer({ min: Date.parse('2026-01-01') / MINUTE_MS, max: Date.parse('2027-01-01') / MINUTE_MS })
  const ahead = fc.oneof(fc.integer({ min: 1, max: 5 * 60 }), fc.integer({ min: 24 * 60 + 1, max: 40 * 24 * 60 }))
  fc.assert(
    fc.property(zones, moment, ahead, (zone, minute, minutes) => {
      const now = minute * MINUTE_MS
      const reset = now + minutes * MINUTE_MS
      const found = parseResetTime(toldAsVendor(reset, now, zone), { now })
      const offsets = [0, 60, 30].map(shift => reset - shift * MINUTE_MS)
      // Where the clocks show the time twice, the first of both is as true as the second.
      assert.ok(offsets.includes(found ?? 0), new Date(found ?? 0).toISOString())
      if (zone === 'UTC' || zone === 'Asia/Kathmandu') assert.equal(found, reset)
    }),
    { numRuns: 500 },
  )
})

test('whatever a message says, reading it throws nothing', () => {
  fc.assert(
    fc.property(fc.string(), text => {
      const found = parseResetTime(`resets ${text}`, { now: NOW })
      assert.ok(found === undefined || Number.isSafeInteger(found))
    }),
  )
})

function toldAsVendor(reset: number, now: number, zone: string): string {
  const format = (options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat('en-US', { timeZone: zone, ...options }).format(reset)
  const time = format({ hour: 'numeric', minute: '2-digit', hour12: true })
    .toLowerCase()
    .replace(/[\s\u202f]/g, '')
  const date = reset - now > 24 * 60 * MINUTE_MS ? `${format({ month: 'short', day: 'numeric' })}, ` : ''
  return `You've hit your limit · resets ${date}${time.replace(':00', '')} (${zone})`
}
