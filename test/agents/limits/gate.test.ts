import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import {
  closedBy,
  heldBy,
  isShut,
  openedForTrial,
  openGate,
  released,
  reopened,
} from '../../../src/agents/limits/gate.ts'
import { resumeTimes, trialTimes } from '../../../src/agents/limits/resume-times.ts'
import type { Gate, Limit } from '../../../src/domain/account/limit.ts'
import { isTransient } from '../../../src/domain/failure.ts'
import { FailureKind } from '../../../src/domain/session.ts'

const NOW = Date.parse('2026-11-15T05:47:00Z')
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

const limit = (resetsAt?: number, window = 'five_hour'): Limit => ({
  source: 'event',
  message: 'full',
  window,
  ...(resetsAt !== undefined && { resetsAt }),
})
const close = (gate: Gate, told: Limit, now = NOW, random = 0) => closedBy(gate, told, { now, random: () => random })
const CLOSED = close(openGate('a'), limit(NOW + HOUR_MS))

test('a limit shuts the gate until its reset and not a moment longer', () => {
  assert.equal(isShut(undefined, NOW), false)
  assert.equal(isShut(openGate('a'), NOW), false)
  assert.equal(isShut(CLOSED, NOW), true)
  assert.equal(isShut(CLOSED, NOW + HOUR_MS - 1), true)
  assert.equal(isShut(CLOSED, NOW + HOUR_MS), false)
  assert.deepEqual(
    [CLOSED.source, CLOSED.window, CLOSED.reason, CLOSED.closed_at],
    ['record', 'five_hour', 'full', NOW],
  )
})

test('of two resets the later wins, whichever comes first', () => {
  const weekly = limit(NOW + 3 * DAY_MS, 'seven_day')
  assert.equal(close(CLOSED, weekly).closed_until, NOW + 3 * DAY_MS)
  const long = close(openGate('a'), weekly)
  assert.deepEqual(close(long, limit(NOW + HOUR_MS)), long)
})

test('a reset in thirty days is believed, one in a thousand years is a slip of units', () => {
  assert.equal(close(openGate('a'), limit(NOW + 30 * DAY_MS)).closed_until, NOW + 30 * DAY_MS)
  const slip = close(openGate('a'), limit(NOW * 1000))
  assert.deepEqual([slip.source, slip.closed_until], ['probe', NOW + MINUTE_MS])
})

for (const [what, resetsAt] of [
  ['without a reset', undefined],
  ['with a reset in the past', NOW - DAY_MS],
] as const) {
  test(`a limit ${what} is probed later and later, up to half an hour`, () => {
    let [gate, now] = [openGate('a'), NOW]
    const waits = Array.from({ length: 8 }, () => {
      gate = close(gate, limit(resetsAt), now)
      const wait = (gate.closed_until ?? 0) - now
      now = gate.closed_until ?? 0
      return wait / MINUTE_MS
    })
    assert.deepEqual(waits, [1, 2, 4, 8, 16, 30, 30, 30])
    assert.equal(gate.source, 'probe')
    const again = close(reopened(gate, now), limit(resetsAt), now)
    assert.equal((again.closed_until ?? 0) - now, MINUTE_MS, 'a call that got through starts it anew')
  })
}

test('several sessions refused at once are one closing', () => {
  const once = close(openGate('a'), limit())
  assert.deepEqual(close(close(once, limit(), NOW + 10), limit(), NOW + 20), once)
  assert.deepEqual(close(CLOSED, limit(), NOW + 10), CLOSED, 'and a known reset is not forgotten for an unknown one')
})

test('a reset that is told takes the place of a guess, also of a longer one', () => {
  const guessed = { ...close(openGate('a'), limit()), closed_until: NOW + 2 * HOUR_MS }
  const told = close(guessed, limit(NOW + HOUR_MS))
  assert.deepEqual([told.closed_until, told.source, told.probes], [NOW + HOUR_MS, 'record', 0])
})

test('an answer that comes while the gate is closed was asked for before, and opens nothing', () => {
  assert.deepEqual(reopened(CLOSED, NOW + 1), CLOSED)
  assert.deepEqual(reopened(CLOSED, NOW + HOUR_MS), openGate('a'))
})

test('a hold shuts the gate whatever the limit does, and letting go leaves the limit', () => {
  const held = heldBy(CLOSED, 'human', NOW)
  assert.deepEqual([held.held, held.held_by, held.held_at], [true, 'human', NOW])
  assert.equal(isShut(held, NOW + DAY_MS), true)
  assert.equal(isShut(reopened(held, NOW + DAY_MS), NOW + DAY_MS), true)
  assert.deepEqual(heldBy(held, 'another', NOW + 1), held, 'who held it first is kept')
  assert.deepEqual(released(held), CLOSED)
})

test('a clock that was set back does not stretch a guess, and does not touch what the vendor said', () => {
  const guess = close(openGate('a'), limit())
  assert.equal(isShut(guess, NOW + 1), true)
  assert.equal(isShut(guess, NOW - DAY_MS), false)
  assert.equal(isShut(CLOSED, NOW - DAY_MS), true)
})

test('whatever happens, a gate is shut by a limit exactly while a reset or a probe is ahead', () => {
  const step = fc.record({
    after: fc.integer({ min: 0, max: 2 * HOUR_MS }),
    does: fc.constantFrom('limit', 'unknown', 'past', 'through'),
    ahead: fc.integer({ min: 1, max: 3 * DAY_MS }),
    random: fc.double({ min: 0, max: 1, noNaN: true }),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 20 }), steps => {
      let [gate, now, latest] = [openGate('a'), NOW, 0]
      for (const { after, does, ahead, random } of steps) {
        now += after
        const before = gate
        const resetsAt = does === 'limit' ? now + ahead : does === 'past' ? now - ahead : undefined
        gate = does === 'through' ? reopened(gate, now) : close(gate, limit(resetsAt), now, random)
        if (does === 'limit') latest = Math.max(latest, now + ahead)
        if (does !== 'through') assert.ok(isShut(gate, now), 'a limit always shuts it')
        if (isShut(before, now)) assert.ok(isShut(gate, now), 'and nothing but time opens it')
        if (latest > now) assert.ok(isShut(gate, latest - 1), 'no call before the latest reset that was told')
        assert.ok((gate.closed_until ?? 0) <= Math.max(latest, now + 33 * MINUTE_MS), 'no wait without a cause')
      }
    }),
  )
})

test('sessions go on after the reset by priority and age, apart, and all within 90 s', () => {
  const session = fc.record({ created_at: fc.integer({ min: 0, max: 9 }), priority: fc.integer({ min: -1, max: 2 }) })
  const random = fc.double({ min: 0, max: 1, noNaN: true })
  fc.assert(
    fc.property(fc.array(session, { minLength: 1, maxLength: 300 }), random, (rows, chance) => {
      const waiting = rows.map((row, at) => ({ ...row, id: `s-${String(at).padStart(3, '0')}` }))
      const times = resumeTimes(CLOSED, waiting, () => chance)
      const after = [...times.values()].map(time => time - (CLOSED.closed_until ?? 0))
      assert.equal(times.size, rows.length)
      assert.ok(Math.min(...after) >= 2000 && Math.min(...after) <= 5000, 'the first soon after the reset')
      assert.ok(Math.max(...after) <= 90_000, `${Math.max(...after)}`)
      const order = waiting.toSorted((a, b) => (times.get(a.id) ?? 0) - (times.get(b.id) ?? 0))
      for (const [at, one] of order.entries()) {
        const next = order[at + 1]
        if (!next) continue
        const isBefore =
          one.priority > next.priority || (one.priority === next.priority && one.created_at <= next.created_at)
        assert.ok(isBefore || times.get(one.id) === times.get(next.id))
      }
    }),
  )
})

test('a few sessions are seconds apart, so that the first can find the account still closed', () => {
  const waiting = [1, 2, 3].map(at => ({ id: `s-${at}`, created_at: at, priority: 0 }))
  const times = [...resumeTimes(CLOSED, waiting, Math.random).values()]
  assert.ok(
    times.every((time, at) => at === 0 || time - (times[at - 1] ?? 0) >= 4000),
    times.join(),
  )
})

test('only what may pass by itself is tried again', () => {
  const transient = FailureKind.options.filter(isTransient)
  assert.deepEqual(transient.toSorted(), ['agent_crashed', 'network', 'overloaded', 'server'])
})

test('a person can have a closed gate tried at once; a hold stays, and what is open is left as it is', () => {
  const opened = openedForTrial(CLOSED, NOW)
  assert.deepEqual(opened, openGate('a'))
  const held = openedForTrial(heldBy(CLOSED, 'human', NOW), NOW)
  assert.deepEqual([held.closed_until, held.held, held.held_by], [null, true, 'human'])
  const past = NOW + HOUR_MS
  assert.equal(openedForTrial(CLOSED, past), CLOSED)
})

test('a trial that is refused without a reset waits longer than the time before, and an answer starts the count anew', () => {
  const once = close(openGate('a'), limit())
  const twice = close(openedForTrial(once, NOW), limit())
  assert.deepEqual([twice.probes, (twice.closed_until ?? 0) - NOW], [2, 2 * MINUTE_MS])
  assert.equal(reopened(openedForTrial(twice, NOW), NOW).probes, 0)
  const told = close(openedForTrial(CLOSED, NOW), limit(NOW + HOUR_MS))
  assert.deepEqual(told, CLOSED, 'with a reset it is as closed as it was')
})

test('of those that wait for a trial one goes on at once, and the others half a minute later at the soonest, apart', () => {
  fc.assert(
    fc.property(fc.nat(40), fc.double({ min: 0, max: 1, noNaN: true }), (count, chance) => {
      const waiting = Array.from({ length: count }, (_, n) => ({ id: `s-${n}`, created_at: -n, priority: n % 2 }))
      const times = [...trialTimes(NOW, waiting, () => chance)]
      const [first, ...others] = times
      assert.equal(times.length, count)
      if (!first) return
      const best = waiting.toSorted((a, b) => b.priority - a.priority || a.created_at - b.created_at)[0]
      assert.deepEqual(first, [best?.id, NOW])
      assert.ok(others.every(([, at]) => at >= NOW + 30_000 && at <= NOW + 120_000))
      assert.equal(new Set(others.map(([, at]) => at)).size, others.length)
    }),
  )
})
