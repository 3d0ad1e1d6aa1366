import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { StoredEvent } from '../../src/domain/event.ts'
import { OPEN_STATES, TASK_MOVES, TaskState } from '../../src/domain/task.ts'
import { openQueue, type Queue, SESSION } from './a-queue.ts'

test('every move of the table is possible and every other one is refused, naming both states', async t => {
  const queue = await openQueue(t)
  for (const from of TaskState.options) {
    for (const to of TaskState.options) {
      const task = await queue.add(`${from} to ${to}`, { session: `s-${from}-${to}` })
      for (const step of wayTo(from)) await queue.move(task, step)
      assert.equal((await queue.get(task)).state, from)
      if (TASK_MOVES[from].includes(to)) assert.equal((await queue.move(task, to)).state, to)
      else {
        await assert.rejects(queue.move(task, to), {
          code: 'task_move_refused',
          message: `Task ${task.id} is ${from} and cannot become ${to}.`,
        })
        assert.equal((await queue.get(task)).state, from)
      }
    }
  }
})

test('what is over has no move left but a retry of what failed', () => {
  for (const state of TaskState.options) {
    if (OPEN_STATES.includes(state)) assert.ok(TASK_MOVES[state].includes('cancelled'), state)
  }
  assert.deepEqual([TASK_MOVES.done, TASK_MOVES.cancelled, TASK_MOVES.failed], [[], [], ['ready', 'cancelled']])
})

test('an attempt that is not the last one can neither finish the task nor give it back', async t => {
  const queue = await openQueue(t)
  await queue.add('slow')
  const first = await queue.claim()
  assert.ok(first)
  await queue.move(first, 'ready', { reason: 'its daemon died' })
  const second = await queue.claim()
  assert.equal(second?.attempt, 2)
  await assert.rejects(queue.move(first, 'done', { attempt: first.attempt, result: 'stale' }), { code: 'task_moved' })
  const task = await queue.get(first)
  assert.deepEqual([task.state, task.result], ['running', null])
  assert.equal((await queue.move(first, 'done', { attempt: 2 })).state, 'done')
})

test('every step is an event of the session, written with the state or not at all', async t => {
  const queue = await openQueue(t)
  const a = await queue.add('a', { priority: 2 })
  const b = await queue.add('b', { after: ['a'] })
  await queue.claim()
  await queue.store.transaction(tx => queue.tasks.transition(a.id, { to: 'waiting', reason: 'limit', wakesAt: 7 }, tx))
  await queue.claim()
  await queue.move(a, 'done', { result: 'did it' })
  await queue.claim()
  await queue.move(b, 'failed', { reason: 'no' })
  assert.deepEqual(await told(queue), [
    ['task.submitted', a.id, { title: 'a', priority: 2, after: [], state: 'ready' }],
    ['task.submitted', b.id, { title: 'b', priority: 0, after: [a.id], state: 'blocked' }],
    ['task.started', a.id, { title: 'a', from: 'ready', attempt: 1 }],
    ['task.waiting', a.id, { title: 'a', from: 'running', attempt: 1, reason: 'limit', wakes_at: 7 }],
    ['task.started', a.id, { title: 'a', from: 'waiting', attempt: 1 }],
    ['task.finished', a.id, { title: 'a', from: 'running', attempt: 1, result: 'did it', verification: 'unverified' }],
    ['task.readied', b.id, { title: 'b', from: 'blocked', attempt: 0 }],
    ['task.started', b.id, { title: 'b', from: 'ready', attempt: 1 }],
    ['task.failed', b.id, { title: 'b', from: 'running', attempt: 1, reason: 'no' }],
  ])

  const before = (await told(queue)).length
  await assert.rejects(
    queue.store.transaction(async tx => {
      await queue.tasks.transition(b.id, { to: 'ready' }, tx)
      throw new Error('changed my mind')
    }),
    /changed my mind/,
  )
  assert.equal((await queue.get(b)).state, 'failed')
  assert.equal((await told(queue)).length, before)
})

test('a blocker that fails is told once for each task it holds up', async t => {
  const queue = await openQueue(t)
  const a = await queue.add('a')
  const held = [await queue.add('b', { after: ['a'] }), await queue.add('c', { after: ['a'] })]
  await queue.claim()
  await queue.move(a, 'failed', { reason: 'broken' })
  const blocked = (await told(queue)).filter(([kind]) => kind === 'task.blocked')
  assert.deepEqual(
    blocked.map(([, id]) => id),
    held.map(({ id }) => id),
  )
})

/** The moves that lead from a new task, which is ready, to each state. */
function wayTo(state: TaskState): TaskState[] {
  const ways: Record<TaskState, TaskState[]> = {
    ready: [],
    blocked: ['blocked'],
    running: ['running'],
    waiting: ['running', 'waiting'],
    verifying: ['running', 'verifying'],
    merging: ['running', 'verifying', 'merging'],
    done: ['running', 'done'],
    failed: ['running', 'failed'],
    cancelled: ['cancelled'],
  }
  return ways[state]
}

type TaskEvent = Extract<StoredEvent, { kind: `task.${string}` }>

async function told(queue: Queue): Promise<[string, string, object][]> {
  const events = (await queue.store.events({ subject: SESSION })) as TaskEvent[]
  return events.map(({ kind, body: { task_id, ...body } }) => [kind, task_id, body])
}
