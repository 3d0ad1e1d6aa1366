import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { AppError } from '../../../src/base/errors.ts'
import { placesFor } from '../../../src/base/places.ts'
import { type Amounts, type Measure, NOTHING_SPENT } from '../../../src/domain/budget/budget.ts'
import { variableOf } from '../../../src/domain/config/environment-layer.ts'
import { loadConfig } from '../../../src/domain/config/load.ts'
import { SETTING_KEYS, type SettingKey } from '../../../src/domain/config/settings.ts'
import { budgetsIn } from '../../../src/supervisor/settings/budgets-of.ts'
import { overrun, type Totals } from '../../../src/tasks/budgets/overrun.ts'
import { tempDir } from '../../support/world.ts'

/** Each with an amount that is one too many. */
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
  const places = placesFor({ env: { PCC_HOME: home } })
  return loadConfig({ places, env: { HOME: home, ...env }, ...(project && { project }) })
}

test('each budget of the settings stops what has spent so much of it, and nothing else does', async t => {
  assert.deepEqual(KEYS.toSorted(), SETTING_KEYS.filter(key => key.startsWith('budgets.')).toSorted())
  for (const key of KEYS) {
    const [, scope = '', measure = ''] = key.split('.')
    const spent = (amount: number): Totals => {
      const own: Amounts = { ...NOTHING_SPENT, [measure]: amount }
      const other: Amounts = { turns: 99, tokens: 99, cost_usd: 99, wall_minutes: 99, [measure]: 0 }
      return { task: other, session: other, day: other, project: other, [scope]: own }
    }
    const set = budgetsIn((await loaded(t, { [variableOf(key)]: '7' })).config)
    const unset = budgetsIn((await loaded(t, {})).config)
    assert.deepEqual(overrun(spent(7), set), { scope, measure, spent: 7, limit: 7 }, key)
    assert.equal(overrun(spent(6.9), set), undefined, key)
    assert.equal(overrun(spent(7), unset), undefined, key)
  }
})

test('a project may only tighten its budgets, and what a person says at the start comes before all settings', async t => {
  const project = tempDir(t)
  const file = '[budgets.session]\ncost_usd = 3\nturns = 500\n[budgets.project]\ncost_usd = 10\n'
  writeFileSync(join(project, '.perpetualcc.toml'), file)
  const home = tempDir(t)
  writeFileSync(join(home, 'config.toml'), '[budgets.session]\ncost_usd = 5\nturns = 100\n')
  const places = placesFor({ env: { PCC_HOME: home } })
  const { config, untrusted } = await loadConfig({ places, env: { HOME: home }, project })
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
      const places = placesFor({ env: { PCC_HOME: home } })
      writeFileSync(join(home, 'config.toml'), `[budgets.day]\n${measure} = ${value}\n`)
      const problem = await loadConfig({ places, env: { HOME: home } }).then(
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
