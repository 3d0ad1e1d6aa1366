import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { AppError } from '../../src/base/errors.ts'
import { nextScheduledTime, parseScheduleTimes, parseSince } from '../../src/tasks/schedules.ts'

const ZONE = 'Europe/Berlin'
const NOW = Date.parse('2026-11-15T14:45:00Z') // a Sunday, 15:45 in Berlin

const first = (when: { at?: string; every?: string }, now = NOW) => {
  try {
    return new Date(parseScheduleTimes({ ...when, zone: ZONE }, now).due_at).toISOString().replace(':00.000Z', 'Z')
  } catch (error) {
    assert.ok(error instanceof AppError, String(error))
    return error.code
  }
}

test('a single time is understood as people write it, by their own clock', () => {
  const said: Record<string, string> = {
    '02:00': '2026-11-16T01:00Z',
    '15:44': '2026-11-16T14:44Z',
    '15:46': '2026-11-15T14:46Z',
    '2am': '2026-11-16T01:00Z',
    '2:30 pm': '2026-11-16T13:30Z',
    '12 am': '2026-11-15T23:00Z',
    'today 23:00': '2026-11-15T22:00Z',
    'Tomorrow 02:00': '2026-11-16T01:00Z',
    'tonight 23:00': '2026-11-15T22:00Z',
    'tonight 02:00': '2026-11-16T01:00Z',
    'tomorrow at 02:00': '2026-11-16T01:00Z',
    'mon 03:00': '2026-11-16T02:00Z',
    'wednesday 03:00': '2026-11-18T02:00Z',
    '2027-01-31 02:00': '2027-01-31T01:00Z',
    '2027-01-31T02:00Z': '2027-01-31T02:00Z',
    '2027-01-31T02:00+05:30': '2027-01-30T20:30Z',
    'in 3h': '2026-11-15T17:45Z',
    'in 90 minutes': '2026-11-15T16:15Z',
    'in 2 days': '2026-11-17T14:45Z',
  }
  for (const [at, expected] of Object.entries(said)) assert.equal(first({ at }), expected, at)
})

test('times that come back are understood, and five fields of cron', () => {
  const said: Record<string, string> = {
    'weekdays 22:00': '2026-11-16T21:00Z',
    'weekdays at 10 pm': '2026-11-16T21:00Z',
    'day 02:00': '2026-11-16T01:00Z',
    'weekends 10:00': '2026-11-21T09:00Z',
    'mon,thu 03:30': '2026-11-16T02:30Z',
    'monday, friday 1am': '2026-11-16T00:00Z',
    '6h': '2026-11-15T17:00Z',
    hour: '2026-11-15T15:00Z',
    '22:00': '2026-11-15T21:00Z',
    '0 22 * * 1-5': '2026-11-16T21:00Z',
  }
  for (const [every, expected] of Object.entries(said)) assert.equal(first({ every }), expected, every)
})

test('what is past, never comes or says nothing is refused, each with its reason', () => {
  for (const at of ['2020-01-01 02:00', 'today 01:00']) assert.equal(first({ at }), 'schedule_past', at)
  for (const at of ['soon', '25:00', '13pm', '0am', '7', '2027-02-30 10:00', 'blursday 10:00', 'in 3 years'])
    assert.equal(first({ at }), 'schedule_wrong', at)
  for (const every of [
    'daily',
    '5h',
    '90m',
    '2d',
    '3 days',
    '7 weeks',
    '1h30',
    '0h',
    '* * * * *',
    '60 22 * * *',
    'x 22:00',
    'weekdays 24:00',
    '1 2 3',
  ])
    assert.equal(first({ every }), 'schedule_wrong', every)
  assert.equal(
    first({ every: '45,46 15 * * *' }),
    'schedule_wrong',
    'a minute apart, though a day is in between just now',
  )
  assert.equal(first({ every: '0 0 30 2 *' }), 'schedule_past')
  assert.equal(first({ at: '02:00', every: 'day 02:00' }), 'schedule_wrong')
})

test('an hour that the clocks leave out begins when they go on, one that comes twice counts once', () => {
  const days = (from: string) => {
    const times: string[] = []
    for (let at = Date.parse(from); times.length < 3; times.push(new Date(at).toISOString().slice(0, 16)))
      at = nextScheduledTime('30 2 * * *', ZONE, at) ?? 0
    return times
  }
  assert.deepEqual(days('2027-03-27T00:00Z'), ['2027-03-27T01:30', '2027-03-28T01:00', '2027-03-29T00:30'])
  assert.deepEqual(days('2027-10-30T00:00Z'), ['2027-10-30T00:30', '2027-10-31T00:30', '2027-11-01T01:30'])
  assert.equal(first({ at: '2027-03-28 02:30' }), '2027-03-28T01:30Z')
})

test('tomorrow and yesterday are days of the calendar, also where one has 23 or 25 hours', () => {
  assert.equal(first({ at: 'tomorrow 12:00' }, Date.parse('2027-03-27T22:30Z')), '2027-03-28T10:00Z')
  assert.equal(first({ at: 'tomorrow 12:00' }, Date.parse('2027-10-30T22:30Z')), '2027-11-01T11:00Z')
  const yesterday = (now: string) => new Date(parseSince('yesterday', ZONE, Date.parse(now))).toISOString()
  assert.equal(yesterday('2027-03-28T22:30Z'), '2027-03-27T23:00:00.000Z')
  assert.equal(yesterday('2027-10-31T22:30Z'), '2027-10-29T22:00:00.000Z')
})

test('the next time is always later than now, in every zone, and reading never fails but with a reason', () => {
  const zone = fc.constantFrom('Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kolkata', 'UTC')
  const clock = fc.tuple(fc.nat(23), fc.nat(59)).map(pair => pair.map(part => String(part).padStart(2, '0')).join(':'))
  const day = fc.constantFrom('', 'today ', 'tomorrow ', 'mon ', 'sunday ')
  const text = fc.oneof(
    fc.tuple(day, clock).map(parts => parts.join('')),
    fc.string({ maxLength: 20 }),
  )
  const now = fc.integer({ min: Date.parse('2026-01-01'), max: Date.parse('2030-01-01') })
  fc.assert(
    fc.property(text, fc.boolean(), zone, now, (said, again, zone, now) => {
      try {
        const { due_at, pattern } = parseScheduleTimes({ zone, ...(again ? { every: said } : { at: said }) }, now)
        assert.ok(due_at > now)
        assert.equal(pattern !== null, again)
      } catch (error) {
        if (!(error instanceof AppError) || !error.code.startsWith('schedule_')) throw error
      }
    }),
    { numRuns: 300 },
  )
})

test('who looks back says a time as well: the last time that it was ten, yesterday, eight hours ago', () => {
  const back: Record<string, string> = {
    '22:00': '2026-11-14T21:00Z',
    '15:45': '2026-11-15T14:45Z',
    'yesterday 18:00': '2026-11-14T17:00Z',
    'today 08:00': '2026-11-15T07:00Z',
    'mon 22:00': '2026-11-09T21:00Z',
    '2026-11-01 10:00': '2026-11-01T09:00Z',
    today: '2026-11-14T23:00Z',
    yesterday: '2026-11-13T23:00Z',
    '2026-11-01': '2026-10-31T23:00Z',
    '8h': '2026-11-15T06:45Z',
    '2 days ago': '2026-11-13T14:45Z',
  }
  const at = (said: string) => new Date(parseSince(said, ZONE, NOW)).toISOString().replace(':00.000Z', 'Z')
  for (const [said, expected] of Object.entries(back)) assert.equal(at(said), expected, said)
  for (const said of ['', 'then', '25:00', '2026-02-30 10:00', '2026-13-01', '8 years', '-1h', '5', 'Infinityd'])
    assert.throws(() => at(said), { code: 'since_wrong' }, said)
  for (const said of ['today 23:00', '2027-01-01 00:00']) assert.throws(() => at(said), { code: 'since_ahead' }, said)
})
