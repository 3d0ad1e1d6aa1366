import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import * as fc from 'fast-check'
import {
  closeGate,
  createOpenGate,
  decideAdmission,
  holdGate,
  openAccountGates,
  openGateForTrial,
  releaseGate,
  reopenGate,
} from '../../../src/agents/limits/account-gates.ts'
import { resumeTimes, trialTimes } from '../../../src/agents/limits/resume-times.ts'
import { type AccountGate, faultOf, type Limit } from '../../../src/domain/limit.ts'
import { FailureKind, isTransient } from '../../../src/domain/session.ts'
import { openStore } from '../../../src/store/open.ts'
import { DATABASES } from '../../store/databases.ts'
import { tempDir } from '../../support/world.ts'

const LIMIT: Limit = { source: 'event', message: 'full', resetsAt: 5000, window: 'five_hour' }

for (const { name, open } of DATABASES) {
  test(`${name}: a limit closes its account for every session, and no other account`, async t => {
    const clock = { now: () => 1000 }
    const gates = openAccountGates({ store: await open(t), clock })
    assert.deepEqual(await gates.admits('a'), { open: true })
    const gate = await gates.close('a', LIMIT)
    assert.deepEqual(await gates.admits('a'), { open: false, why: 'limit', until: 5000, gate })
    assert.deepEqual(await gates.admits('b'), { open: true })
    assert.deepEqual(await gates.list(), [gate])
    clock.now = () => 5000
    assert.deepEqual(await gates.admits('a'), { open: true })
  })

  test(`${name}: a call that gets through opens the gate, and an account without a gate gets none by it`, async t => {
    const clock = { now: () => 1000 }
    const gates = openAccountGates({ store: await open(t), clock })
    await gates.close('a', { source: 'result', message: 'full' })
    await gates.reopen('a')
    assert.equal((await gates.of('a'))?.probes, 1, 'not while it is closed')
    clock.now = () => 1_000_000
    await gates.reopen('a')
    assert.deepEqual([(await gates.of('a'))?.closed_until, (await gates.of('a'))?.probes], [null, 0])
    await gates.reopen('b')
    assert.equal(await gates.of('b'), undefined)
  })

  test(`${name}: a trial opens what a limit has closed; the next answer starts the count of probes anew`, async t => {
    const store = await open(t)
    const gates = openAccountGates({ store, clock: { now: () => 1000 } })
    await gates.close('a', { source: 'result', message: 'full' })
    const trial = (account: string) => store.transaction(tx => gates.openForTrial(account, tx))
    assert.deepEqual([await trial('a'), await trial('a'), await trial('b')], [true, false, false])
    assert.deepEqual(await gates.admits('a'), { open: true })
    assert.equal((await gates.of('a'))?.probes, 1)
    assert.equal(await gates.of('b'), undefined)
    await gates.reopen('a')
    assert.equal((await gates.of('a'))?.probes, 0)
  })

  test(`${name}: a hold stops one account, or every account, until it is let go`, async t => {
    const gates = openAccountGates({ store: await open(t), clock: { now: () => 1000 } })
    await gates.hold('a', 'human')
    assert.deepEqual(await why('a'), 'held')
    assert.deepEqual(await why('b'), undefined)
    await gates.release('a')
    await gates.hold('*', 'human')
    assert.deepEqual([await why('a'), await why('b')], ['held', 'held'])
    await gates.release('*')
    assert.deepEqual([await why('a'), await why('b')], [undefined, undefined])

    async function why(account: string) {
      const admission = await gates.admits(account)
      return admission.open ? undefined : admission.why
    }
  })

  test(`${name}: a closing is part of the transaction it is given`, async t => {
    const store = await open(t)
    const gates = openAccountGates({ store, clock: { now: () => 1000 } })
    const failing = store.transaction(async tx => {
      await gates.close('a', LIMIT, tx)
      assert.equal((await gates.admits('a', tx)).open, false, 'seen inside')
      throw new Error('later in the same transaction')
    })
    await assert.rejects(failing, /later/)
    assert.deepEqual(await gates.admits('a'), { open: true })
  })

  test(`${name}: limits that come at once leave the latest reset`, async t => {
    const gates = openAccountGates({ store: await open(t), clock: { now: () => 1000 } })
    const resets = [3000, 9000, 5000, 7000]
    await Promise.all(resets.map(resetsAt => gates.close('a', { ...LIMIT, resetsAt })))
    assert.equal((await gates.of('a'))?.closed_until, 9000)
  })
}

test('a gate is still shut after the daemon is gone, held or closed', async t => {
  const file = join(tempDir(t), 'store.db')
  const clock = { now: () => 1000 }
  const before = await openStore({ file })
  await openAccountGates({ store: before, clock }).close('a', LIMIT)
  await openAccountGates({ store: before, clock }).hold('b', 'human')
  await before.close()
  await using after = await openStore({ file })
  const gates = openAccountGates({ store: after, clock })
  assert.deepEqual(
    (await gates.list()).map(({ account, closed_until, held, held_by }) => [account, closed_until, held, held_by]),
    [
      ['a', 5000, false, null],
      ['b', null, true, 'human'],
    ],
  )
  assert.equal((await gates.admits('a')).open, false)
})

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
const close = (gate: AccountGate, reported: Limit, now = NOW, random = 0) =>
  closeGate(gate, reported, { now, random: () => random })
const isShut = (gate: AccountGate | undefined, now: number) => !decideAdmission([gate], now).open
const CLOSED = close(createOpenGate('a'), limit(NOW + HOUR_MS))

test('a limit shuts the gate until its reset and not a moment longer', () => {
  assert.equal(isShut(undefined, NOW), false)
  assert.equal(isShut(createOpenGate('a'), NOW), false)
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
  const long = close(createOpenGate('a'), weekly)
  assert.deepEqual(close(long, limit(NOW + HOUR_MS)), long)
})

test('a reset in thirty days is believed, one in a thousand years is a slip of units', () => {
  assert.equal(close(createOpenGate('a'), limit(NOW + 30 * DAY_MS)).closed_until, NOW + 30 * DAY_MS)
  const slip = close(createOpenGate('a'), limit(NOW * 1000))
  assert.deepEqual([slip.source, slip.closed_until], ['probe', NOW + MINUTE_MS])
})

for (const [what, resetsAt] of [
  ['without a reset', undefined],
  ['with a reset in the past', NOW - DAY_MS],
] as const) {
  test(`a limit ${what} is probed later and later, up to half an hour`, () => {
    let [gate, now] = [createOpenGate('a'), NOW]
    const waits = Array.from({ length: 8 }, () => {
      gate = close(gate, limit(resetsAt), now)
      const wait = (gate.closed_until ?? 0) - now
      now = gate.closed_until ?? 0
      return wait / MINUTE_MS
    })
    assert.deepEqual(waits, [1, 2, 4, 8, 16, 30, 30, 30])
    assert.equal(gate.source, 'probe')
    const again = close(reopenGate(gate, now), limit(resetsAt), now)
    assert.equal((again.closed_until ?? 0) - now, MINUTE_MS, 'a call that got through starts it anew')
  })
}

test('a fault is tried sooner than a limit without a reset, and stays in the row until a call succeeds', () => {
  const fault: Limit = { source: 'result', message: 'refused', fault: 'login' }
  let [gate, now] = [createOpenGate('a'), NOW]
  const waits = Array.from({ length: 7 }, () => {
    gate = close(gate, fault, now)
    const wait = (gate.closed_until ?? 0) - now
    now = gate.closed_until ?? 0
    return wait / 1000
  })
  assert.deepEqual(waits, [5, 15, 45, 135, 405, 600, 600])
  assert.equal(gate.closed_at, NOW, 'it waits since the first refusal')
  const tried = openGateForTrial(close(gate, fault, now), now)
  assert.deepEqual([isShut(tried, now), faultOf(tried), tried.reason], [false, 'login', 'refused'])
  assert.deepEqual(reopenGate(tried, now), createOpenGate('a'))
  assert.equal(faultOf(close(close(createOpenGate('a'), limit()), fault)), 'login', 'a fault explains a guess')
  assert.deepEqual(close(CLOSED, fault), CLOSED, 'a known reset stays')
  assert.equal(isShut(close(createOpenGate('a'), fault), NOW - DAY_MS), false, 'the clock was set back')
})

test('several sessions refused at once are one closing', () => {
  const once = close(createOpenGate('a'), limit())
  assert.deepEqual(close(close(once, limit(), NOW + 10), limit(), NOW + 20), once)
  assert.deepEqual(close(CLOSED, limit(), NOW + 10), CLOSED, 'and a known reset is not forgotten for an unknown one')
})

test('a reset that is told takes the place of a guess, also of a longer one', () => {
  const guessed = { ...close(createOpenGate('a'), limit()), closed_until: NOW + 2 * HOUR_MS }
  const told = close(guessed, limit(NOW + HOUR_MS))
  assert.deepEqual([told.closed_until, told.source, told.probes], [NOW + HOUR_MS, 'record', 0])
})

test('an answer that comes while the gate is closed was asked for before, and opens nothing', () => {
  assert.deepEqual(reopenGate(CLOSED, NOW + 1), CLOSED)
  assert.deepEqual(reopenGate(CLOSED, NOW + HOUR_MS), createOpenGate('a'))
})

test('a hold shuts the gate whatever the limit does, and letting go leaves the limit', () => {
  const held = holdGate(CLOSED, 'human', NOW)
  assert.deepEqual([held.held, held.held_by, held.held_at], [true, 'human', NOW])
  assert.equal(isShut(held, NOW + DAY_MS), true)
  assert.equal(isShut(reopenGate(held, NOW + DAY_MS), NOW + DAY_MS), true)
  assert.deepEqual(holdGate(held, 'another', NOW + 1), held, 'who held it first is kept')
  assert.deepEqual(releaseGate(held), CLOSED)
})

test('a clock that was set back does not stretch a guess, and does not touch what the vendor said', () => {
  const guess = close(createOpenGate('a'), limit())
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
      let [gate, now, latest] = [createOpenGate('a'), NOW, 0]
      for (const { after, does, ahead, random } of steps) {
        now += after
        const before = gate
        const resetsAt = does === 'limit' ? now + ahead : does === 'past' ? now - ahead : undefined
        gate = does === 'through' ? reopenGate(gate, now) : close(gate, limit(resetsAt), now, random)
        if (does === 'limit') latest = Math.max(latest, now + ahead)
        if (does !== 'through') assert.ok(isShut(gate, now), 'a limit always shuts it')
        if (isShut(before, now)) assert.ok(isShut(gate, now), 'and nothing but time opens it')
        if (latest > now) assert.ok(isShut(gate, latest - 1), 'no call before the latest reported reset')
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
  const opened = openGateForTrial(CLOSED, NOW)
  assert.deepEqual(opened, createOpenGate('a'))
  const held = openGateForTrial(holdGate(CLOSED, 'human', NOW), NOW)
  assert.deepEqual([held.closed_until, held.held, held.held_by], [null, true, 'human'])
  const past = NOW + HOUR_MS
  assert.equal(openGateForTrial(CLOSED, past), CLOSED)
})

test('a trial that is refused without a reset waits longer than the time before, and an answer starts the count anew', () => {
  const once = close(createOpenGate('a'), limit())
  const twice = close(openGateForTrial(once, NOW), limit())
  assert.deepEqual([twice.probes, (twice.closed_until ?? 0) - NOW], [2, 2 * MINUTE_MS])
  assert.equal(reopenGate(openGateForTrial(twice, NOW), NOW).probes, 0)
  const told = close(openGateForTrial(CLOSED, NOW), limit(NOW + HOUR_MS))
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
