import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type NewRecord, newRecord, type RecordOf } from '../../../src/domain/memory.ts'
import { measureLift, renderLift } from '../../../src/memory/learn/lift.ts'
import { DAY_MS, item, NOW } from './items.ts'
import { makeRandom } from './stream.ts'

function results(count: number, lift: number): RecordOf<'result'>[] {
  const random = makeRandom(3)
  return Array.from({ length: count }, (_, n) => {
    const arm = n % 4 === 0 ? 'without' : 'with'
    const better = arm === 'with' ? lift : 0
    return newRecord({
      ...{
        kind: 'result',
        arm,
        retries: random() < 0.5 - better ? 1 : 0,
        corrections: 0,
        tool_calls: 20 - 10 * better + 4 * random(),
      },
      ...{ cost_usd: 1, outcome: random() < 0.5 + better ? 'success' : 'failure', task: `t-${n}`, time: n },
      ...{ scope: 'project', of: 'p', actor: 'daemon', authority: 'gate' },
    } as NewRecord) as RecordOf<'result'>
  })
}
const measure = (given: RecordOf<'result'>[], items: ReturnType<typeof item>[] = []) =>
  measureLift({ results: given, items, coverage: { recorded: 9, sessions: 10 }, now: NOW })

test('lift is a difference with its interval; without any there is no clear difference', () => {
  const lift = measure(results(200, 0.4))
  assert.deepEqual(lift.tasks, { with: 150, without: 50 })
  assert.ok(lift.success && lift.success.low > 0.1 && lift.success.high < 0.7)
  assert.ok(lift.tool_calls && lift.tool_calls.high < 0)
  const [, success, , corrections, calls] = renderLift(lift)
  assert.match(success ?? '', /success +\+\d\d points \(\+\d+ points to \+\d+ points\): better/)
  assert.match(calls ?? '', /tool calls +−\d\.\d \(.*\): better/)
  assert.match(corrections ?? '', /corrections +0\.00 .*no clear difference/)
  const none = measure(results(200, 0)).success
  assert.ok(none && none.low < 0 && none.high > 0)
})

test('with too few tasks on either side it says so, and gives no figure', () => {
  const lift = measure(results(40, 0.4))
  assert.deepEqual([lift.enough, lift.success, lift.cost_usd], [false, null, null])
  assert.match(renderLift(lift)[0] ?? '', /not enough data \(30 tasks with recall, 10 without; 20 of each are needed\)/)
})

test('a task that was tried again counts once, by how it ended', () => {
  const [first, ...others] = results(100, 0)
  assert.ok(first)
  const twice = measure([{ ...first, id: 'm-earlier' }, first, ...others])
  assert.equal(twice.tasks.with + twice.tasks.without, 100)
})

test('junk is what nobody needed in two weeks or what was contradicted; the rest is counted, too', () => {
  const old = { created_at: NOW - 30 * DAY_MS }
  const items = [
    item({ ...old, uses: 3 }),
    item(old),
    item({ ...old, ended_at: NOW, ended_by: 'retired', uses: 5 }),
    item({ ...old, ended_at: NOW, ended_by: 'stale', uses: 5 }),
    item({ ...old, ended_at: NOW, ended_by: 'stale', uses: 5 }),
    item(),
    item({ ...old, kind: 'episode' }),
    item({ ...old, type: 'permission' }),
  ]
  const { junk } = measure([], items)
  assert.deepEqual(junk, { items: 5, never_used: 1, contradicted: 1, share: 0.4 })
  assert.deepEqual(renderLift(measure([], items)).slice(-3), [
    'Coverage: 9 of 10 sessions recorded',
    'Junk: 40 % (1 never shown, 1 contradicted, of 5)',
    'Stale: 2 about files that have changed',
  ])
  assert.match(renderLift(measure([])).at(-2) ?? '', /nothing is old enough/)
})
