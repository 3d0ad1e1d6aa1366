import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { AppError } from '../../src/base/errors.ts'
import type { Task, TaskState } from '../../src/domain/task.ts'
import { type Graph, openGraph } from './a-graph.ts'

/** What may happen to the tasks of one project. Numbers select one of the existing tasks. */
type Act =
  | { do: 'add'; priority: number; after: number[]; parent: number | null }
  | { do: 'claim' | 'crash'; run: number }
  | { do: 'end'; which: number; to: TaskState; stale: boolean }
  | { do: 'say'; which: number; to: 'done' | 'failed' | 'ready' | 'cancelled' }
  | { do: 'link' | 'unlink'; task: number; blocker: number }
  | { do: 'parent'; task: number; parent: number | null }
  | { do: 'delete'; which: number; cascade: boolean }

const pick = fc.nat(30)
const maybe = fc.option(pick, { freq: 3 })
const run = fc.nat(1)
const ACT: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('add' as const),
      priority: fc.integer({ min: -2, max: 2 }),
      after: fc.array(pick, { maxLength: 3 }),
      parent: maybe,
    }),
  },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('claim' as const), run }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('end' as const),
      which: pick,
      to: fc.constantFrom<TaskState>('done', 'done', 'done', 'failed', 'waiting', 'ready', 'verifying'),
      stale: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('say' as const),
      which: pick,
      to: fc.constantFrom('done' as const, 'failed' as const, 'ready' as const, 'cancelled' as const),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constantFrom('link' as const, 'unlink' as const), task: pick, blocker: pick }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('parent' as const), task: pick, parent: maybe }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('crash' as const), run }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete' as const), which: pick, cascade: fc.boolean() }) },
)

/** A task whose only part was cancelled, and then deleted, came after one that had failed, and did not say so. */
const ONCE_WRONG: Act[] = [
  { do: 'add', priority: 0, after: [], parent: null },
  { do: 'claim', run: 0 },
  { do: 'add', priority: 0, after: [0], parent: null },
  { do: 'end', which: 0, to: 'failed', stale: false },
  { do: 'add', priority: 0, after: [], parent: 1 },
  { do: 'say', which: 2, to: 'cancelled' },
  { do: 'delete', which: 2, cascade: false },
]

test('whatever happens: nothing begins before its blockers, none is lost, parents follow, one owner, counts equal a recount', async t => {
  const graph = await openGraph(t)
  let round = 0
  const property = fc.asyncProperty(fc.array(ACT, { minLength: 10, maxLength: 60 }), async acts => {
    const project = `/p${round++}`
    let there = 0
    for (const act of acts) {
      there += await perform(act, graph, project)
      await checkAll(graph, project, there)
    }
    await checkNoCircle(graph, project)
    await drain(graph, project)
    for (const task of await checkAll(graph, project, there)) {
      const ended: TaskState[] = ['done', 'failed', 'cancelled', 'blocked', 'waiting', 'verifying']
      assert.ok(ended.includes(task.state), `${task.title} is ${task.state}`)
    }
  })
  await fc.assert(property, { numRuns: 80, examples: [[ONCE_WRONG]] })
})

/** Carries out a step where it is possible; returns how many tasks were added. */
async function perform(act: Act, graph: Graph, project: string): Promise<number> {
  const all = await graph.store.tasks.list({ project })
  const at = (index: number | null) => (index === null ? undefined : all[index % all.length])
  switch (act.do) {
    case 'add': {
      const after = act.after.flatMap(index => at(index)?.id ?? [])
      const added = graph.add(`task ${all.length}`, {
        project,
        priority: act.priority,
        after,
        parent: at(act.parent)?.id,
      })
      return (await allowed(added, ['task_cancelled', 'task_begun', 'task_cycle'])) ? 1 : 0
    }
    case 'claim': {
      const taken = await graph.claim(`r-${act.run}`, project)
      assert.equal(taken?.id, expectedClaim(all)?.id)
      assert.deepEqual(taken && [taken.open_blockers, taken.run_id], taken && [0, `r-${act.run}`])
      return 0
    }
    case 'crash': {
      const given = await graph.crash(`r-${act.run}`)
      for (const task of given) assert.ok(task.state === 'ready' || task.state === 'blocked', task.state)
      return 0
    }
    case 'end': {
      const held = all.filter(({ state }) => ['running', 'verifying', 'waiting'].includes(state))
      const task = held[act.which % held.length]
      if (!task) return 0
      if (act.stale) {
        const late = graph.move(task, { to: act.to, attempt: task.attempt - 1 })
        await assert.rejects(late, { code: 'task_moved' })
      } else await allowed(graph.move(task, { to: act.to, attempt: task.attempt }), ['task_move_refused'])
      return 0
    }
    case 'say': {
      const task = at(act.which)
      if (task) await allowed(graph.say(task, { to: act.to }), ['task_has_parts', 'task_move_refused'])
      return 0
    }
    case 'link':
    case 'unlink': {
      const [task, blocker] = [at(act.task), at(act.blocker)]
      if (!task || !blocker) return 0
      const done = act.do === 'link' ? graph.after(task, blocker) : graph.notAfter(task, blocker)
      await allowed(done, ['task_cycle', 'task_cancelled', 'task_move_refused', 'task_not_after'])
      return 0
    }
    case 'parent': {
      const task = at(act.task)
      if (task) await allowed(graph.update(task, { parent: at(act.parent)?.id ?? null }), ['task_cycle', 'task_begun'])
      return 0
    }
    case 'delete': {
      const task = at(act.which)
      const gone = task && (await allowed(graph.remove(task, act.cascade), ['task_needed', 'task_at_work']))
      return gone ? -gone.length : 0
    }
  }
}

/** The rule, independent of the code: highest priority, else oldest. */
function expectedClaim(all: Task[]): Task | undefined {
  const ready = all.filter(({ state }) => state === 'ready')
  return ready.toSorted((a, b) => b.priority - a.priority || a.position - b.position)[0]
}

async function checkAll(graph: Graph, project: string, there: number): Promise<Task[]> {
  const all = await graph.store.tasks.list({ project })
  assert.equal(all.length, there, 'none is lost')
  const byId = new Map(all.map(task => [task.id, task]))
  const edges = Map.groupBy(await graph.store.tasks.edges({ project }), edge => edge.task_id)
  const parts = Map.groupBy(all, ({ parent_id }) => parent_id)
  for (const task of all) {
    const named = `${task.id} (${task.title}, ${task.state})`
    const blockers = (edges.get(task.id) ?? []).map(edge => byId.get(edge.blocker_id))
    const open = blockers.filter(blocker => blocker?.state !== 'done')
    const parent = task.parent_id === null ? undefined : byId.get(task.parent_id)
    assert.equal(
      task.open_blockers,
      open.length + Number((parent?.open_blockers ?? 0) > 0),
      `${named} counts its blockers`,
    )
    checkParts(task, parts.get(task.id) ?? [], named)
    const isHeld = ['running', 'verifying', 'merging', 'waiting'].includes(task.state)
    assert.equal(task.lease_owner !== null, isHeld, `${named} has an owner exactly while it is held`)
    if (isHeld) assert.notEqual(task.run_id, null, named)
    const dead = open.some(blocker => blocker?.state === 'failed' || blocker?.state === 'cancelled')
    const isTold = /^comes after t-\w+ \(task \d+\), which /.test(task.reason ?? '')
    if (task.state === 'blocked') assert.equal(isTold, dead, `${named} names what stands in its way`)
  }
  const counts = await graph.tasks.counts({ project })
  assert.deepEqual(
    counts,
    Object.fromEntries(
      Map.groupBy(all, ({ state }) => state)
        .entries()
        .map(([state, of]) => [state, of.length]),
    ),
  )
  return all
}

/** The rule, independent of the code: if everything were open, all of it could be done in some order. */
async function checkNoCircle(graph: Graph, project: string): Promise<void> {
  const all = await graph.store.tasks.list({ project })
  const byId = new Map(all.map(task => [task.id, task]))
  const blockers = Map.groupBy(await graph.store.tasks.edges({ project }), edge => edge.task_id)
  const done = new Set<string>()
  const mayBegin = ({ id, parent_id }: Task): boolean => {
    const own = (blockers.get(id) ?? []).every(({ blocker_id }) => done.has(blocker_id))
    const parent = parent_id === null ? undefined : byId.get(parent_id)
    return own && (!parent || mayBegin(parent))
  }
  const mayEnd = (task: Task) =>
    mayBegin(task) && all.filter(({ parent_id }) => parent_id === task.id).every(({ id }) => done.has(id))
  for (let before = -1; before < done.size; ) {
    before = done.size
    for (const task of all) if (mayEnd(task)) done.add(task.id)
  }
  assert.equal(done.size, all.length, 'nothing waits for itself')
}

function checkParts(task: Task, parts: Task[], named: string): void {
  const having = (...states: TaskState[]) => parts.filter(({ state }) => states.includes(state)).length
  const over = having('done', 'failed', 'cancelled')
  const counted = [task.children, task.children_open, task.children_failed, task.children_done]
  assert.deepEqual(
    counted,
    [parts.length, parts.length - over, having('failed'), having('done')],
    `${named} counts its parts`,
  )
  if (parts.length > 0) assert.equal(task.state, stateOf(parts), `${named} follows its parts`)
  else if (task.open_blockers > 0) assert.notEqual(task.state, 'ready', named)
  else assert.notEqual(task.state, 'blocked', named)
}

function stateOf(parts: Task[]): TaskState {
  if (parts.some(({ state }) => state === 'failed')) return 'failed'
  if (parts.every(({ state }) => state === 'cancelled')) return 'cancelled'
  return parts.every(({ state }) => state === 'done' || state === 'cancelled') ? 'done' : 'blocked'
}

/** Finishes everything that can be claimed. */
async function drain(graph: Graph, project: string): Promise<void> {
  for (const task of await graph.store.tasks.list({ project, states: ['running'] }))
    await graph.move(task, { to: 'done' })
  for (let task = await graph.claim('r-9', project); task; task = await graph.claim('r-9', project)) {
    await graph.move(task, { to: 'done', attempt: task.attempt })
  }
}

/** The result, or undefined where it was refused for one of these reasons. */
async function allowed<T>(work: Promise<T>, codes: string[]): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    if (error instanceof AppError && codes.includes(error.code)) return undefined
    throw error
  }
}
