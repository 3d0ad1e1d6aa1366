import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Amounts, NOTHING_SPENT } from '../../../src/domain/budget/budget.ts'
import { openStore } from '../../../src/store/open.ts'
import { dayOf, nextDay } from '../../../src/tasks/budgets/day.ts'
import { book, totalsOf } from '../../../src/tasks/budgets/ledger.ts'
import { Meter } from '../../../src/tasks/budgets/meter.ts'
import { overrun, warnings } from '../../../src/tasks/budgets/overrun.ts'
import { tempDir } from '../../support/world.ts'

const amount = (usd: number): Amounts => ({ ...NOTHING_SPENT, cost_usd: usd })
const NONE = { task: {}, session: {}, day: {}, project: {} }

test('whatever an agent tells, corrects and fails to store, each piece is booked once', () => {
  const step = fc.record({ usd: fc.float({ min: 0, max: 100, noNaN: true }), fails: fc.boolean() })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 50 }), steps => {
      const meter = new Meter(0)
      let booked = 0
      for (const { usd, fails } of steps) {
        meter.saw({ cost_usd: usd })
        const taken = meter.take()
        if (fails) taken?.undo()
        else booked += taken?.amounts.cost_usd ?? 0
      }
      booked += meter.take({ all: true })?.amounts.cost_usd ?? 0
      assert.ok(Math.abs(booked - (steps.at(-1)?.usd ?? 0)) < 1e-6)
    }),
  )
})

test('time counts while there is work, not while a person is asked, the machine sleeps or the clock is set', () => {
  const meter = new Meter(0)
  const minutes = (now: number, running = true) => {
    meter.passes(now * 60_000, running)
    return meter.take({ all: true })?.amounts.wall_minutes ?? 0
  }
  assert.equal(minutes(0), 0)
  assert.equal(minutes(1), 1)
  assert.equal(minutes(2, false), 0)
  assert.equal(minutes(3), 1)
  assert.equal(minutes(600), 0, 'nobody worked for ten hours between two looks')
  assert.equal(minutes(5), 0, 'a clock that was set back')
  assert.equal(minutes(6), 1)
})

test('a warning comes once, when four fifths are passed, and never together with the end', () => {
  const budgets = { ...NONE, session: { cost_usd: 10 } }
  const from = (before: number, after: number) =>
    warnings({ session: amount(before) }, { session: amount(after) }, budgets).map(({ spent }) => spent)
  assert.deepEqual(from(7, 7.9), [])
  assert.deepEqual(from(7.9, 8), [8])
  assert.deepEqual(from(8, 9), [])
  assert.deepEqual(from(7, 11), [], 'that it is spent is told instead')
})

test('of several budgets that are spent the one that lasts longest is named', () => {
  const budgets = { task: { cost_usd: 1 }, session: { cost_usd: 1 }, day: { cost_usd: 1 }, project: { cost_usd: 1 } }
  const all = amount(2)
  assert.equal(overrun({ task: all, session: all, day: all, project: all }, budgets)?.scope, 'project')
  assert.equal(overrun({ task: all, day: all }, budgets)?.scope, 'task')
  assert.equal(overrun({ day: all }, budgets)?.scope, 'day')
})

test('rows survive a restart, every scope counts by itself, and a new day begins at midnight', async t => {
  const file = join(tempDir(t), 'db')
  let now = new Date(2026, 10, 15, 23, 59).getTime()
  const clock = { now: () => now }
  const spender = (id: string, task_id: string | null) => ({ id, project: '/p', task_id })
  const spend = async (who: ReturnType<typeof spender>, usd: number) => {
    await using store = await openStore({ file, clock })
    return store.transaction(tx => book(who, amount(usd), { store, clock, tx }))
  }
  await spend(spender('s-1', 't-1'), 1)
  await spend(spender('s-2', 't-2'), 2)
  const { before, after } = await spend(spender('s-1', 't-3'), 4)
  assert.deepEqual([before.day?.cost_usd, after.day?.cost_usd], [3, 7])
  assert.deepEqual([after.task?.cost_usd, after.session?.cost_usd, after.project?.cost_usd], [4, 5, 7])
  assert.equal(dayOf(now), '2026-11-15')
  now = nextDay(now)
  assert.equal(dayOf(now), '2026-11-16')
  await using store = await openStore({ file, clock })
  const today = await totalsOf(spender('s-1', null), { store, clock })
  assert.deepEqual([today.day?.cost_usd, today.session?.cost_usd, today.task], [0, 5, undefined])
  await store.transaction(tx => store.spending.forget({ scope: 'project', key: '/p' }, tx))
  assert.equal((await totalsOf(spender('s-1', null), { store, clock })).project?.cost_usd, 0)
})
