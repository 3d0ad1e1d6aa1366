import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { nextAllowedTime } from '../../../src/agents/limits/resume-times.ts'
import { loadConfig } from '../../../src/domain/config/load.ts'
import { readHours } from '../../../src/domain/hours.ts'
import { writeConfigFiles, writeText } from '../../domain/config/config-files.ts'

const MINUTE_MS = 60_000
const at = (iso: string) => Date.parse(iso)
const allowed = (iso: string, hours: string, zone = 'UTC') => {
  const next = nextAllowedTime(at(iso), { autoResume: true, hours, zone })
  return next === null ? null : new Date(next).toISOString()
}

test('without consent work never goes on by itself; with it and without hours it goes on at once', () => {
  assert.equal(nextAllowedTime(1000, { autoResume: false }), null)
  assert.equal(nextAllowedTime(1000, { autoResume: false, hours: '00:00-24:00' }), null)
  assert.equal(nextAllowedTime(1000, { autoResume: true }), 1000)
})

test('work waits for the first of the hours, also past midnight, and the end of the hours is outside', () => {
  assert.equal(allowed('2026-05-04T21:59:30Z', '22:00-07:00'), '2026-05-04T22:00:00.000Z')
  assert.equal(allowed('2026-05-04T23:15:00Z', '22:00-07:00'), '2026-05-04T23:15:00.000Z')
  assert.equal(allowed('2026-05-05T06:59:59Z', '22:00-07:00'), '2026-05-05T06:59:59.000Z')
  assert.equal(allowed('2026-05-05T07:00:00Z', '22:00-07:00'), '2026-05-05T22:00:00.000Z')
  assert.equal(allowed('2026-05-05T09:00:00Z', '22:00-07:00, 12:00-13:00'), '2026-05-05T12:00:00.000Z')
  assert.equal(allowed('2026-05-05T09:00:00Z', '00:00-24:00'), '2026-05-05T09:00:00.000Z')
})

test('the hours are those of the stated wall clock, whatever its clocks do', () => {
  assert.equal(allowed('2026-05-04T19:00:00Z', '22:00-07:00', 'Europe/Berlin'), '2026-05-04T20:00:00.000Z')
  // On 29 March 2026 the clocks of Berlin go from 2:00 to 3:00, at 01:00Z.
  assert.equal(allowed('2026-03-29T00:30:00Z', '02:30-04:00', 'Europe/Berlin'), '2026-03-29T01:00:00.000Z')
  assert.equal(allowed('2026-03-29T00:30:00Z', '02:15-02:45', 'Europe/Berlin'), '2026-03-30T00:15:00.000Z')
  // On 25 October 2026 they go from 3:00 to 2:00, at 01:00Z: the hour from two to three comes twice.
  assert.equal(allowed('2026-10-25T00:45:00Z', '02:00-02:30', 'Europe/Berlin'), '2026-10-25T01:00:00.000Z')
})

test('sessions.auto_resume and sessions.resume_hours are the consent, and hours that mean nothing are refused', async t => {
  const { paths, env } = writeConfigFiles(t)
  const next = async (settings: string) => {
    writeText(paths.configFile, settings)
    const { sessions } = (await loadConfig({ paths, env, project: null })).config
    return nextAllowedTime(1000, { autoResume: sessions.auto_resume, hours: sessions.resume_hours, zone: 'UTC' })
  }
  assert.equal(await next(''), 1000)
  assert.equal(await next('sessions.auto_resume = false\n'), null)
  assert.equal(await next('sessions.resume_hours = "00:01-00:02"\n'), MINUTE_MS)
  await assert.rejects(next('sessions.resume_hours = "at night"\n'), /hours such as "22:00-07:00"/)
})

test('hours that cannot be read allow nothing', () => {
  for (const hours of [
    '',
    'night',
    '22-07',
    '25:00-07:00',
    '22:60-07:00',
    '22:00-22:00',
    '24:00-07:00',
    '22:00-07:00,',
  ]) {
    assert.equal(readHours(hours), undefined, hours)
    assert.equal(nextAllowedTime(1000, { autoResume: true, hours }), null, hours)
  }
})

test('for any hours, zone and moment the answer is the first minute at which a wall clock shows them', () => {
  const zones = [
    'UTC',
    'Europe/Berlin',
    'America/New_York',
    'Australia/Lord_Howe',
    'Asia/Kathmandu',
    'America/Santiago',
  ]
  const changes = [
    '2026-03-29T00:00Z',
    '2026-10-25T00:00Z',
    '2026-03-08T06:00Z',
    '2026-11-01T05:00Z',
    '2026-04-04T14:00Z',
  ]
  const clock = fc.integer({ min: 0, max: 24 * 12 - 1 }).map(fives => fives * 5)
  const range = fc.tuple(clock, clock).filter(([from, to]) => from !== to)
  const moment = fc.oneof(
    fc.integer({ min: at('2026-01-01T00:00Z') / MINUTE_MS, max: at('2027-01-01T00:00Z') / MINUTE_MS }),
    fc
      .tuple(fc.constantFrom(...changes), fc.integer({ min: -1800, max: 600 }))
      .map(([iso, off]) => at(iso) / MINUTE_MS + off),
  )
  fc.assert(
    fc.property(
      fc.constantFrom(...zones),
      fc.array(range, { minLength: 1, maxLength: 2 }),
      moment,
      (zone, ranges, minute) => {
        const hours = ranges.map(([from, to]) => `${words(from)}-${words(to)}`).join(',')
        const start = minute * MINUTE_MS
        assert.equal(nextAllowedTime(start, { autoResume: true, hours, zone }), firstByLooking(start, ranges, zone))
      },
    ),
    { numRuns: 150 },
  )
})

function words(minutes: number): string {
  return `${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}`
}

/** Checks the wall clock of every minute. */
function firstByLooking(start: number, ranges: [number, number][], zone: string): number | null {
  const clock = new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  })
  for (let moment = start; moment < start + 3 * 1440 * MINUTE_MS; moment += MINUTE_MS) {
    const [hour = 0, minute = 0] = clock.format(moment).split(':').map(Number)
    const now = hour * 60 + minute
    if (ranges.some(([from, to]) => (from < to ? now >= from && now < to : now >= from || now < to))) return moment
  }
  return null
}
