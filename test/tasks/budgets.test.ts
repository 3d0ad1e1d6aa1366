import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { appPathsFor } from '../../src/base/app-paths.ts'
import { AppError } from '../../src/base/errors.ts'
import {
  type Amounts,
  type Measure,
  NOTHING_SPENT,
  PurposeSplit,
  purposeWords,
  spentByPurpose,
} from '../../src/domain/budget.ts'
import { variableOf } from '../../src/domain/config/layers.ts'
import { loadConfig } from '../../src/domain/config/load.ts'
import { SETTING_KEYS, type SettingKey } from '../../src/domain/config/settings.ts'
import { openStore } from '../../src/store/open.ts'
import { budgetsIn } from '../../src/supervisor/session/settings.ts'
import {
  bookSpending,
  calendarDayOf,
  findBudgetWarnings,
  findOverrun,
  readSpendingTotals,
  SpendingMeter,
  type SpendingTotals,
  startOfNextDay,
} from '../../src/tasks/budgets.ts'
import { tempDir } from '../support/world.ts'

const amount = (usd: number): Amounts => ({ ...NOTHING_SPENT, cost_usd: usd })
const NONE = { task: {}, session: {}, day: {}, project: {} }

test('whatever an agent tells, corrects and fails to store, each piece is booked once', () => {
  const step = fc.record({ usd: fc.float({ min: 0, max: 100, noNaN: true }), fails: fc.boolean() })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 50 }), steps => {
      const meter = new SpendingMeter(0)
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
  const meter = new SpendingMeter(0)
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
    findBudgetWarnings({ session: amount(before) }, { session: amount(after) }, budgets).map(({ spent }) => spent)
  assert.deepEqual(from(7, 7.9), [])
  assert.deepEqual(from(7.9, 8), [8])
  assert.deepEqual(from(8, 9), [])
  assert.deepEqual(from(7, 11), [], 'that it is spent is told instead')
})

test('of several budgets that are spent the one that lasts longest is named', () => {
  const budgets = { task: { cost_usd: 1 }, session: { cost_usd: 1 }, day: { cost_usd: 1 }, project: { cost_usd: 1 } }
  const all = amount(2)
  assert.equal(findOverrun({ task: all, session: all, day: all, project: all }, budgets)?.scope, 'project')
  assert.equal(findOverrun({ task: all, day: all }, budgets)?.scope, 'task')
  assert.equal(findOverrun({ day: all }, budgets)?.scope, 'day')
})

test('rows survive a restart, every scope counts by itself, and a new day begins at midnight', async t => {
  const file = join(tempDir(t), 'db')
  let now = new Date(2026, 10, 15, 23, 59).getTime()
  const clock = { now: () => now }
  const spender = (id: string, task_id: string | null) => ({ id, project: '/p', task_id })
  const spend = async (who: ReturnType<typeof spender>, usd: number) => {
    await using store = await openStore({ file, clock })
    return store.transaction(tx => bookSpending(who, amount(usd), { store, clock, tx }))
  }
  await spend(spender('s-1', 't-1'), 1)
  await spend(spender('s-2', 't-2'), 2)
  const { before, after } = await spend(spender('s-1', 't-3'), 4)
  assert.deepEqual([before.day?.cost_usd, after.day?.cost_usd], [3, 7])
  assert.deepEqual([after.task?.cost_usd, after.session?.cost_usd, after.project?.cost_usd], [4, 5, 7])
  assert.equal(calendarDayOf(now), '2026-11-15')
  now = startOfNextDay(now)
  assert.equal(calendarDayOf(now), '2026-11-16')
  await using store = await openStore({ file, clock })
  const today = await readSpendingTotals(spender('s-1', null), { store, clock })
  assert.deepEqual([today.day?.cost_usd, today.session?.cost_usd, today.task], [0, 5, undefined])
  await store.transaction(tx => store.spending.forget({ scope: 'project', key: '/p' }, tx))
  assert.equal((await readSpendingTotals(spender('s-1', null), { store, clock })).project?.cost_usd, 0)
})

test('money is divided as the tokens that came before it, and work is what the other purposes leave', () => {
  const split = new PurposeSplit()
  assert.deepEqual(split.split({ tokens: 300, cost_usd: 0 }, 'limits'), { limits: { tokens: 300, cost_usd: 0 } })
  assert.deepEqual(split.split({ tokens: 100, cost_usd: 4 }, 'retries'), {
    limits: { tokens: 0, cost_usd: 3 },
    retries: { tokens: 100, cost_usd: 1 },
  })
  assert.deepEqual(split.split({ tokens: 0, cost_usd: 2 }, 'work'), { work: { tokens: 0, cost_usd: 2 } })
  const spent = spentByPurpose({ tokens: 500, cost_usd: 7 }, { limits: { tokens: 300, cost_usd: 3 } })
  assert.deepEqual(
    [spent.work, spent.limits],
    [
      { tokens: 200, cost_usd: 4 },
      { tokens: 300, cost_usd: 3 },
    ],
  )
  assert.equal(purposeWords(spentByPurpose({ tokens: 5, cost_usd: 1 }, {})), undefined, 'nothing to tell apart')
  assert.equal(purposeWords(spent), 'work 4.00 usd, 200 tokens · lost to limits 3.00 usd, 300 tokens')
})

/** Each measure with an amount that is one too many. */
const KEYS: SettingKey[] = [
  'budgets.task.turns',
  'budgets.task.tokens',
  'budgets.task.cost_usd',
  'budgets.task.wall_minutes',
  'budgets.session.turns',
  'budgets.session.tokens',
  'budgets.session.cost_usd',
  'budgets.session.wall_minutes',
  'budgets.day.turns',
  'budgets.day.tokens',
  'budgets.day.cost_usd',
  'budgets.day.wall_minutes',
  'budgets.project.turns',
  'budgets.project.tokens',
  'budgets.project.cost_usd',
  'budgets.project.wall_minutes',
]

const loaded = (t: Parameters<typeof tempDir>[0], env: Record<string, string>, project?: string) => {
  const home = tempDir(t)
  const paths = appPathsFor({ env: { PCC_HOME: home } })
  return loadConfig({ paths, env: { HOME: home, ...env }, project: project ?? null })
}

test('each budget of the settings stops what has spent so much of it, and nothing else does', async t => {
  assert.deepEqual(KEYS.toSorted(), SETTING_KEYS.filter(key => key.startsWith('budgets.')).toSorted())
  for (const key of KEYS) {
    const [, scope = '', measure = ''] = key.split('.')
    const spent = (amount: number): SpendingTotals => {
      const own: Amounts = { ...NOTHING_SPENT, [measure]: amount }
      const other: Amounts = { turns: 99, tokens: 99, cost_usd: 99, wall_minutes: 99, [measure]: 0 }
      return { task: other, session: other, day: other, project: other, [scope]: own }
    }
    const set = budgetsIn((await loaded(t, { [variableOf(key)]: '7' })).config)
    const unset = budgetsIn((await loaded(t, {})).config)
    assert.deepEqual(findOverrun(spent(7), set), { scope, measure, spent: 7, limit: 7 }, key)
    assert.equal(findOverrun(spent(6.9), set), undefined, key)
    assert.equal(findOverrun(spent(7), unset), undefined, key)
  }
})

test('a project may only tighten its budgets, and what a person says at the start comes before all settings', async t => {
  const project = tempDir(t)
  const file = '[budgets.session]\ncost_usd = 3\nturns = 500\n[budgets.project]\ncost_usd = 10\n'
  writeFileSync(join(project, '.perpetualcc.toml'), file)
  const home = tempDir(t)
  writeFileSync(join(home, 'config.toml'), '[budgets.session]\ncost_usd = 5\nturns = 100\n')
  const paths = appPathsFor({ env: { PCC_HOME: home } })
  const { config, untrusted } = await loadConfig({ paths, env: { HOME: home }, project })
  assert.deepEqual([config.budgets.session.cost_usd, config.budgets.session.turns], [3, 100])
  assert.equal(config.budgets.project.cost_usd, 10)
  assert.deepEqual(untrusted, ['budgets.session.turns'])
  const said = budgetsIn(config, { budget: { cost_usd: 8 } })
  assert.deepEqual([said.session.cost_usd, said.session.turns], [8, 100])
})

test('a budget of zero, below zero, NaN, infinity or of no number is refused in a file and in the environment', async t => {
  const measures: Measure[] = ['turns', 'tokens', 'cost_usd', 'wall_minutes']
  for (const measure of measures) {
    for (const value of ['0', '-1', 'nan', 'inf', '-inf', '"5 usd"', 'true', '1e400']) {
      const home = tempDir(t)
      const paths = appPathsFor({ env: { PCC_HOME: home } })
      writeFileSync(join(home, 'config.toml'), `[budgets.day]\n${measure} = ${value}\n`)
      const problem = await loadConfig({ paths, env: { HOME: home } }).then(
        () => undefined,
        (error: unknown) => error,
      )
      assert.ok(problem instanceof AppError && problem.code === 'config_invalid', `${measure} = ${value}`)
    }
    for (const value of ['0', '-1', 'NaN', 'Infinity', '1e9', 'five']) {
      await assert.rejects(
        loaded(t, { [variableOf(`budgets.day.${measure}`)]: value }),
        (error: AppError) => error.code === 'setting_invalid' && error.message.includes(`budgets.day.${measure}`),
        `${measure} = ${value}`,
      )
    }
  }
})
