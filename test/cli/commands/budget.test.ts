import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { appPathsFor } from '../../../src/base/app-paths.ts'
import { budgetPage } from '../../../src/cli/commands/budget.ts'
import { widthOf } from '../../../src/cli/render/text.ts'
import { type BudgetRow, type BudgetView, NOTHING_SPENT, spentByPurpose } from '../../../src/domain/budget.ts'
import { openStore } from '../../../src/store/open.ts'
import { pccFor } from '../pcc.ts'
import { NOON, plain } from '../render/sample.ts'
import { seed, storedEvents } from '../seeded.ts'

const today: BudgetRow = {
  scope: 'day',
  key: '2026-01-13',
  name: 'today',
  spent: { ...NOTHING_SPENT, cost_usd: 16.4, turns: 412 },
  by_purpose: spentByPurpose({ tokens: 0, cost_usd: 16.4 }, {}),
  limits: { cost_usd: 20 },
  at_bound: 'every session pauses',
}

const page = (scopes: BudgetRow[], width = 100) =>
  budgetPage({ at: NOON, day_ends_at: NOON + 12 * 3_600_000, scopes }, plain(width))

test('the page shows what is spent, a bar for each bound, and what happens at it', () => {
  assert.deepEqual(page([today]).slice(0, 4), [
    'Today (2026-01-13)',
    '  Spent: 16.40 usd, 412 turns',
    '  █████████████████░░░  82%  16.40 usd of 20.00 usd, 3.60 usd left',
    '  At the bound every session pauses.',
  ])
  const over = page([{ ...today, scope: 'session', key: 's-1', name: 'night\n', limits: { turns: 400 } }])
  assert.match(over[0] ?? '', /^Session night s-1$/)
  assert.match(over[2] ?? '', /^ {2}█{20} 103% {2}412 turns of 400 turns, 0 turns left$/)
})

test('the page tells tokens and money by purpose where not all of it was work', () => {
  const parts = { verifier: { tokens: 1_200, cost_usd: 0.4 }, limits: { tokens: 50, cost_usd: 0 } }
  const by_purpose = spentByPurpose({ tokens: 9_250, cost_usd: 16.4 }, parts)
  assert.equal(
    page([{ ...today, by_purpose }], 130)[2],
    '  By purpose: work 16.00 usd, 8,000 tokens · verifier 0.40 usd, 1,200 tokens · lost to limits 50 tokens',
  )
})

test('without a bound the page says how to set one, and it fits a narrow terminal', () => {
  const lines = page([{ ...today, limits: {}, at_bound: null }], 50)
  assert.match(lines.join(' '), /No budget is set\. Set one with: pcc config set budgets\.day\.cost_usd 20/)
  for (const line of lines) assert.ok(widthOf(line) <= 50, line)
})

test('pcc budget tells what is spent and left, resets a project, and refuses what is no budget', async t => {
  const pcc = pccFor(t, { PCC_BUDGETS_PROJECT_COST_USD: '4' })
  const project = join(pcc.home, 'project')
  mkdirSync(project)
  await seed(pcc, [
    { id: 's-aaaaaa', name: 'first', project, cost_usd: 3, turns: 7, ended_as: 'paused', state: 'ended' },
  ])
  {
    await using store = await openStore({ file: appPathsFor({ env: pcc.env }).database })
    const amounts = { ...NOTHING_SPENT, cost_usd: 3, turns: 7 }
    const keys = [{ scope: 'project', key: project } as const, { scope: 'session', key: 's-aaaaaa' } as const]
    await store.transaction(tx => store.spending.add(keys, { amounts, at: 1 }, tx))
  }
  const shown = await pcc.run(['budget', '--project', project])
  assert.equal(shown.code, 0, shown.stderr)
  assert.match(
    shown.stdout,
    /Project project .*\n {2}Spent: 3\.00 usd, 7 turns\n .* 75% {2}3\.00 usd of 4\.00 usd, 1\.00 usd left/,
  )
  const view = JSON.parse((await pcc.run(['budget', '--json'])).stdout) as BudgetView
  assert.deepEqual(
    view.scopes.map(({ scope, spent }) => [scope, spent.cost_usd]),
    [
      ['day', 0],
      ['project', 3],
      ['session', 3],
    ],
  )
  const reset = JSON.parse((await pcc.run(['budget', 'reset', project, '--json'])).stdout) as BudgetView
  assert.equal(reset.scopes.find(({ scope }) => scope === 'project')?.spent.cost_usd, 0)
  const again = await pcc.run(['budget', 'reset', project])
  assert.deepEqual([again.code, /Nothing has been spent in/.test(again.stderr)], [1, true])

  for (const typed of ['0 usd', '-1 usd', 'NaN usd', 'Infinity usd', '5 euro', '5', '']) {
    const { code, stderr } = await pcc.run(['start', project, '--task', 'x', '--budget', typed, '--detach'])
    assert.equal(code, 2, `${typed}: ${stderr}`)
    assert.match(stderr, /budget/)
  }
  const raised = await pcc.run(['resume', 's-aaaaaa', '--budget', '0 usd'])
  assert.deepEqual([raised.code, /must be above zero/.test(raised.stderr)], [2, true])
  const none = await pcc.run(['config', 'set', 'budgets.day.cost_usd', '0'])
  assert.deepEqual([none.code, /expected a number above 0/.test(none.stderr)], [2, true])
  await pcc.run(['daemon', 'stop'])
  assert.deepEqual(await storedEvents(pcc, 's-aaaaaa'), [], 'nothing was begun')
})
