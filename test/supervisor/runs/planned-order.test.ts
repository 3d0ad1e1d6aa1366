import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { RunPlan } from '../../../src/domain/run.ts'
import type { Task } from '../../../src/domain/task.ts'
import { expectCosts, plannedOrder } from '../../../src/supervisor/runs/plan-run.ts'
import { runWorld } from '../../daemon/runs/run-world.ts'
import { keepAttempt, keepRun } from '../../store/an-attempt.ts'
import { scriptedAgent } from '../session/scripted-agent.ts'

/** A task with the fields that decide its position. */
function task(id: string, more: Partial<Task> = {}): Task {
  const position = Number.parseInt(id, 36)
  return {
    id,
    title: id,
    state: 'ready',
    priority: 0,
    position,
    session_id: null,
    parent_id: null,
    children: 0,
    ...more,
  } as Task
}

function orderOf(tasks: Task[], edges: [string, string][] = [], others: Task[] = []): string[] {
  const given = edges.map(([task_id, blocker_id]) => ({ task_id, blocker_id }))
  return plannedOrder({ tasks, edges: given, others }).order.map(({ id }) => id)
}

test('priority comes before age, and nothing before what it comes after', () => {
  const tasks = [task('a'), task('b', { priority: 5, state: 'blocked' }), task('c'), task('d', { priority: 1 })]
  assert.deepEqual(orderOf(tasks, [['b', 'c']]), ['d', 'a', 'c', 'b'])
})

test('a task with parts is done with the last of them, and what holds it up holds up its parts', () => {
  const tasks = [
    task('a'),
    task('b', { state: 'blocked', children: 2 }),
    task('c', { parent_id: 'b', state: 'blocked', priority: 9 }),
    task('d', { parent_id: 'b', state: 'blocked' }),
    task('e', { state: 'blocked', priority: 10 }),
  ]
  assert.deepEqual(
    orderOf(tasks, [
      ['b', 'a'],
      ['e', 'b'],
    ]),
    ['a', 'c', 'd', 'e'],
  )
})

test('what is at work counts as done when its turn is over; what has failed, or is elsewhere and open, holds up', () => {
  const tasks = [task('a', { state: 'running' }), task('b', { state: 'blocked' }), task('c', { state: 'blocked' })]
  const edges = [
    { task_id: 'b', blocker_id: 'a' },
    { task_id: 'c', blocker_id: 'x' },
  ]
  const { order, heldUp } = plannedOrder({ tasks, edges, others: [task('x', { state: 'failed' })] })
  assert.deepEqual(
    order.map(({ id }) => id),
    ['b'],
  )
  assert.deepEqual(heldUp, [
    { id: 'c', title: 'c', why: 'comes after x, which is failed. Do that again with: pcc task reset x' },
  ])
  const queued = plannedOrder({ tasks: [task('a', { session_id: 's-1' })], edges: [], others: [] })
  assert.deepEqual(queued.heldUp, [{ id: 'a', title: 'a', why: 'is in the queue of session s-1' }])
})

test('of any graph every task comes up once, after all that it comes after', () => {
  const graph = fc.integer({ min: 1, max: 20 }).chain(count =>
    fc.record({
      priorities: fc.array(fc.integer({ min: -2, max: 2 }), { minLength: count, maxLength: count }),
      edges: fc.array(fc.tuple(fc.nat(count - 1), fc.nat(count - 1)), { maxLength: 40 }),
    }),
  )
  fc.assert(
    fc.property(graph, ({ priorities, edges }) => {
      const name = (at: number) => at.toString(36)
      const forward = edges
        .filter(([a, b]) => a !== b)
        .map(([a, b]): [string, string] => [name(Math.max(a, b)), name(Math.min(a, b))])
      const tasks = priorities.map((priority, at) =>
        task(name(at), { priority, state: forward.some(([id]) => id === name(at)) ? 'blocked' : 'ready' }),
      )
      const order = orderOf(tasks, forward)
      assert.equal(new Set(order).size, tasks.length)
      for (const [id, blocker] of forward) assert.ok(order.indexOf(blocker) < order.indexOf(id))
    }),
  )
})

test('a plan begins with the model that the history of its first task calls for', async t => {
  const world = await runWorld(t, scriptedAgent())
  const { store, project } = world
  const first = await world.add('tried before')
  await world.add('new')
  const models = async () => {
    const body = { project, target: { kind: 'project' }, env: {}, strategy: 'cost-optimized' }
    const { steps } = (await world.call('POST', '/runs/plan', body)).body as RunPlan
    return steps.map(({ model }) => model)
  }
  const [fresh] = await models()
  await keepRun(store, 'r-1', project)
  await keepAttempt(store, { task: first, outcome: 'failed' })
  const [tried, next] = await models()
  assert.notEqual(tried, fresh, 'a failure asks for a stronger model')
  assert.notEqual(next, tried, 'the plan assumes that it goes well')
})

test('a plan tells which models its tasks go to, and what attempts with them have cost before', async t => {
  const world = await runWorld(t, scriptedAgent())
  const { store, project } = world
  for (const name of ['one', 'two', 'three']) await world.add(name)
  const plan = async () =>
    (await world.call('POST', '/runs/plan', { project, target: { kind: 'project' }, env: {} })).body as RunPlan
  const fresh = await plan()
  const unknown = { cost_usd: null, by: null, attempts: 0 }
  assert.equal(fresh.strategy, 'cost-optimized')
  assert.deepEqual(fresh.models, [
    { model: 'haiku', tasks: 2, ...unknown },
    { model: 'sonnet', tasks: 1, ...unknown },
  ])
  await keepRun(store, 'r-1', project)
  for (const [number, cost_usd] of [0.5, 1.5].entries())
    await keepAttempt(store, { task: 't-0', number, outcome: 'done', model: 'haiku', cost_usd })
  assert.deepEqual((await plan()).models, [
    { model: 'haiku', tasks: 2, cost_usd: 2, by: 'history', attempts: 2 },
    { model: 'sonnet', tasks: 1, ...unknown },
  ])
})

test('a model without a history is estimated from the list prices of one that has some, and never without a price', () => {
  const past = [{ model: 'haiku', answered: 'claude-haiku-4-5', attempts: 4, cost_usd: 0.2 }]
  const [known, unknown] = expectCosts(
    [{ model: 'claude-opus-4-5' }, { model: 'claude-opus-4-5' }, { model: 'opus' }],
    past,
  )
  assert.deepEqual(known, { model: 'claude-opus-4-5', tasks: 2, cost_usd: 2, by: 'prices', attempts: 4 })
  assert.deepEqual(unknown, { model: 'opus', tasks: 1, cost_usd: null, by: null, attempts: 0 })
  const other = { model: null, answered: 'gpt-5.4', attempts: 1, cost_usd: 60 }
  const [cheaper] = expectCosts([{ model: 'gpt-5.3-codex' }], [other])
  // $1.75 and $14 for a million tokens in and out instead of $2.50 and $15: between 70 % and 93 %.
  assert.equal(Math.round(cheaper?.cost_usd ?? 0), 49)
})
