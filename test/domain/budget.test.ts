import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { StartSession } from '../../src/domain/api.ts'
import {
  advisedLimit,
  amountWords,
  eachMeasure,
  MEASURES,
  parseBudget,
  raiseCommand,
  spentWords,
  typedAmount,
  typedBudget,
} from '../../src/domain/budget.ts'
import { openStore } from '../../src/store/open.ts'
import { tempDir } from '../support/world.ts'

test('a budget is read as a person writes it', () => {
  for (const [text, limits] of [
    ['5 usd, 2h, 200 turns, 3M tokens', { cost_usd: 5, wall_minutes: 120, turns: 200, tokens: 3_000_000 }],
    ['$0.50', { cost_usd: 0.5 }],
    ['.5 usd', { cost_usd: 0.5 }],
    ['90 min', { wall_minutes: 90 }],
    ['1.5 hours,250k tokens', { wall_minutes: 90, tokens: 250_000 }],
    ['1 day , 1 turn', { wall_minutes: 1440, turns: 1 }],
    ['30m', { wall_minutes: 30 }],
    ['1.5M tokens', { tokens: 1_500_000 }],
    ['10 USD', { cost_usd: 10 }],
  ] as const) {
    assert.deepEqual(parseBudget(text), { limits }, text)
  }
})

test('every measure is read, written, accepted for a session and added up', async t => {
  const file = join(tempDir(t), 'store.db')
  await using store = await openStore({ file })
  const amounts = eachMeasure(measure => 3 + MEASURES.indexOf(measure))
  const typed = typedBudget(amounts)
  assert.deepEqual(parseBudget(typed), { limits: amounts })
  const started = { project: '/p', task: 'x', env: {}, budget: amounts }
  assert.deepEqual(StartSession.parse(started).budget, amounts)
  assert.equal(StartSession.safeParse({ ...started, budget: { turns: 0.5 } }).success, false)
  const key = { scope: 'session' as const, key: 's-1' }
  for (const at of [1, 2]) await store.transaction(tx => store.spending.add([key], { amounts, at }, tx))
  const [row] = await store.spending.of([key])
  for (const measure of MEASURES) assert.equal(row?.[measure], 2 * amounts[measure], measure)
})

test('an invalid budget is refused with a sentence that names it', () => {
  for (const [text, says] of [
    ['', /names amounts, as in/],
    [' , ', /names amounts/],
    ['0 usd', /"0 usd" is no budget: it must be above zero/],
    ['0.0 usd', /above zero/],
    ['-5 usd', /"-5 usd" is no budget: it must be above zero/],
    ['NaN usd', /it must be a number above zero/],
    ['nan', /it must be a number above zero/],
    ['Infinity usd', /it must be a number above zero/],
    ['-Infinity usd', /it must be a number above zero/],
    ['5', /not an amount with a unit/],
    ['5 euro', /"5 euro" is not an amount with a unit/],
    ['five usd', /not an amount with a unit/],
    ['5 usd 6 usd', /not an amount with a unit/],
    ['1e3 usd', /not an amount with a unit/],
    ['$5 turns', /not an amount with a unit/],
    ['5k usd', /not an amount with a unit/],
    ['1.5 turns', /must be a whole number of turns/],
    ['0.1 tokens', /must be a whole number of tokens/],
    ['5 usd,', /nothing between two commas/],
    ['5 usd, 6 usd', /money is given twice/],
    ['2h, 30 min', /time is given twice/],
    [`${'9'.repeat(400)} usd`, /more than can be counted/],
    ['99999999999M tokens', /more than can be counted/],
  ] as const) {
    const read = parseBudget(text)
    assert.match('problem' in read ? read.problem : JSON.stringify(read), says, text)
  }
})

test('whatever is typed, an accepted budget has finite amounts above zero', () => {
  const word = fc.constantFrom(
    'usd',
    '$',
    'h',
    'min',
    'turns',
    'tokens',
    'k',
    'M',
    '-',
    '+',
    '.',
    ',',
    ' ',
    '0',
    '1',
    '9',
    'NaN',
    'e',
  )
  const typed = fc.oneof(
    fc.string(),
    fc.array(word, { maxLength: 12 }).map(words => words.join('')),
  )
  fc.assert(
    fc.property(typed, text => {
      const read = parseBudget(text)
      if ('problem' in read) return read.problem.length > 0
      const amounts = Object.values(read.limits)
      return amounts.length > 0 && amounts.every(each => Number.isFinite(each) && Number(each) > 0)
    }),
    { numRuns: 2000 },
  )
})

test('amounts are formatted as people write them, and the typed form can be parsed again', () => {
  assert.equal(amountWords('cost_usd', 4.2), '4.20 usd')
  assert.equal(amountWords('cost_usd', 0.004), '0.004 usd')
  assert.equal(amountWords('wall_minutes', 90), '1 h 30 min')
  assert.equal(amountWords('wall_minutes', 0.5), '30 s')
  assert.equal(amountWords('tokens', 3_000_000), '3,000,000 tokens')
  assert.equal(amountWords('turns', 1), '1 turn')
  for (const [measure, amount] of [
    ['cost_usd', 0.2],
    ['wall_minutes', 90],
    ['turns', 400],
    ['tokens', 6_000_000],
  ] as const) {
    assert.deepEqual(parseBudget(typedAmount(measure, amount)), { limits: { [measure]: amount } })
  }
  assert.equal(spentWords({ turns: 0, tokens: 0, cost_usd: 0, wall_minutes: 0 }), 'nothing')
})

test('the limit that is advised exceeds what is spent, also where the old one was exceeded many times over', () => {
  for (const [limit, spent, advised] of [
    [5, 5, 10],
    [5, 5.5, 10],
    [1, 1.9, 4],
    [1, 5.63, 8],
    [0.05, 40, 51.2],
  ] as const)
    assert.equal(advisedLimit({ limit, spent }), advised, `${spent} of ${limit}`)
  const use = { scope: 'day', measure: 'cost_usd', limit: 1, spent: 5.63 } as const
  assert.equal(raiseCommand(use), 'pcc config set budgets.day.cost_usd 8')
})
