import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { AppError } from '../../src/base/errors.ts'
import { AT_WORK, TASK_MOVES, type Task, type TaskState } from '../../src/domain/task.ts'
import { openQueue, type Queue } from './a-queue.ts'

/** What may happen to the queue of one session. Numbers select one of the existing tasks. */
type Act =
  | { do: 'add'; priority: number; after: number[] }
  | { do: 'claim' }
  | { do: 'move'; to: TaskState }
  | { do: 'cancel' | 'retry'; which: number }
  | { do: 'order'; task: number; blocker: number }

const pick = fc.nat(30)
const ADD = fc.record({
  do: fc.constant('add' as const),
  priority: fc.integer({ min: -2, max: 2 }),
  after: fc.array(pick, { maxLength: 3 }),
})
const MOVE = fc.record({
  do: fc.constant('move' as const),
  to: fc.constantFrom<TaskState>('done', 'done', 'done', 'failed', 'waiting', 'ready', 'verifying', 'merging'),
})
const ACT: fc.Arbitrary<Act> = fc.oneof(
  { weight: 4, arbitrary: ADD },
  { weight: 5, arbitrary: fc.constant({ do: 'claim' as const }) },
  { weight: 5, arbitrary: MOVE },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('cancel' as const, 'retry' as const), which: pick }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('order' as const), task: pick, blocker: pick }) },
)

test('whatever happens: nothing runs before its blockers, nothing is lost, one runs at a time, the first in order first', async t => {
  const queue = await openQueue(t)
  let run = 0
  const property = fc.asyncProperty(fc.array(ACT, { minLength: 5, maxLength: 50 }), async acts => {
    const session = `s-${run++}`
    let added = 0
    for (const act of acts) {
      await perform(act, queue, session)
      if (act.do === 'add') added++
      await checkAll(queue, session, added)
    }
    await drain(queue, session)
    for (const task of await checkAll(queue, session, added)) {
      assert.ok(['done', 'failed', 'cancelled', 'blocked'].includes(task.state), `${task.id} is ${task.state}`)
    }
  })
  await fc.assert(property, { numRuns: 60 })
})

test('the order that is shown is the order in which tasks are taken', async t => {
  const queue = await openQueue(t)
  let run = 0
  const property = fc.asyncProperty(fc.array(ADD, { maxLength: 20 }), async acts => {
    const session = `s-${run++}`
    for (const act of acts) await perform(act, queue, session)
    const shown = (await queue.tasks.queue(session)).map(({ id }) => id)
    assert.equal(shown.length, acts.length)
    assert.deepEqual(await drain(queue, session), shown)
  })
  await fc.assert(property, { numRuns: 40 })
})

async function perform(act: Act, queue: Queue, session: string): Promise<void> {
  const all = await queue.store.tasks.list({ session })
  const at = (index: number) => all[index % all.length]
  if (act.do === 'add') {
    const after = act.after.flatMap(index => at(index) ?? []).filter(({ state }) => state !== 'cancelled')
    await queue.add(`task ${all.length}`, { session, priority: act.priority, after: after.map(({ id }) => id) })
  } else if (act.do === 'claim') {
    assert.equal((await queue.claim(session))?.id, expectedClaim(all)?.id)
  } else if (act.do === 'move') {
    const held = all.find(isAtWork)
    if (held && TASK_MOVES[held.state].includes(act.to)) await queue.move(held, act.to, { attempt: held.attempt })
  } else if (act.do === 'order') {
    const [task, blocker] = [at(act.task), at(act.blocker)]
    if (task && blocker)
      await queue.store.transaction(tx => queue.tasks.addDependency(task.id, blocker.id, tx)).catch(refused)
  } else {
    const task = at(act.which)
    if (!task || isAtWork(task)) return
    if (act.do === 'retry' && task.state === 'failed') await queue.move(task, 'ready')
    if (act.do === 'cancel' && TASK_MOVES[task.state].includes('cancelled')) await queue.move(task, 'cancelled')
  }
}

/** The rule, independent of the code: the interrupted task, else highest priority, else oldest. */
function expectedClaim(all: Task[]): Task | undefined {
  if (all.some(isAtWork)) return undefined
  const waiting = all.find(({ state }) => state === 'waiting')
  const ready = all.filter(({ state }) => state === 'ready')
  return waiting ?? ready.toSorted((a, b) => b.priority - a.priority || a.position - b.position)[0]
}

async function checkAll(queue: Queue, session: string, added: number): Promise<Task[]> {
  const all = await queue.store.tasks.list({ session })
  assert.equal(all.length, added, 'none is lost')
  assert.ok(all.filter(isAtWork).length <= 1, 'one at a time')
  const byId = new Map(all.map(task => [task.id, task]))
  const edges = Map.groupBy(await queue.store.tasks.blockersOf([...byId.keys()]), edge => edge.task_id)
  for (const task of all) {
    const blockers = (edges.get(task.id) ?? []).map(edge => byId.get(edge.blocker_id))
    const open = blockers.filter(blocker => blocker?.state !== 'done')
    if (task.state === 'cancelled') continue
    assert.equal(task.open_blockers, open.length, `${task.id} counts its blockers`)
    assert.equal(task.state === 'blocked', open.length > 0, `${task.id} is ${task.state} with ${open.length} before it`)
    const dead = open.some(blocker => blocker?.state === 'failed' || blocker?.state === 'cancelled')
    if (dead) assert.match(task.reason ?? '', /^comes after t-\w+ \(task \d+\), which /)
  }
  return all
}

/** Finishes the task at work, then everything that can be claimed; returns the order. */
async function drain(queue: Queue, session: string): Promise<string[]> {
  const held = (await queue.store.tasks.list({ session })).find(isAtWork)
  if (held) await queue.move(held, 'done')
  const taken: string[] = []
  for (let task = await queue.claim(session); task; task = await queue.claim(session)) {
    taken.push(task.id)
    await queue.move(task, 'done')
  }
  return taken
}

function isAtWork({ state }: Task): boolean {
  return AT_WORK.includes(state)
}

/** A cycle, or a task that has begun: refused, as it should be. */
function refused(error: unknown): void {
  if (!(error instanceof AppError)) throw error
}
