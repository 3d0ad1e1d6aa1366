import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AppError } from '../../src/base/errors.ts'
import { FORCED_MOVES, type Task, type TaskState, TaskState as TaskStates } from '../../src/domain/task.ts'
import { type Graph, openGraph } from './a-graph.ts'

test('finishing a task readies what comes after it; with several before it, the last one does', async t => {
  const graph = await openGraph(t)
  const [a, b] = [await graph.add('a'), await graph.add('b')]
  await graph.add('c', { after: [a.id, b.id] })
  for (const name of ['a', 'b']) {
    const task = await graph.claim()
    assert.equal(task?.title, name)
    assert.equal((await graph.states())['c'], 'blocked')
    if (task) await graph.move(task, { to: 'done', attempt: task.attempt })
  }
  assert.equal((await graph.states())['c'], 'ready')
})

test('a task with parts is done with the last of them, failed with one of them, and never worked on itself', async t => {
  const graph = await openGraph(t)
  const parent = await graph.add('parent')
  const parts = [await graph.add('one', { parent: parent.id }), await graph.add('two', { parent: parent.id })]
  await graph.add('behind', { after: [parent.id] })
  assert.deepEqual(await graph.states(), { parent: 'blocked', one: 'ready', two: 'ready', behind: 'blocked' })
  await finishNext(graph, 'one')
  await assert.rejects(graph.say(parent, { to: 'done' }), { code: 'task_has_parts' })
  const two = await graph.claim()
  assert.ok(two)
  await graph.move(two, { to: 'failed', reason: 'no luck', attempt: two.attempt })
  assert.deepEqual(await graph.states(), { parent: 'failed', one: 'done', two: 'failed', behind: 'blocked' })
  assert.equal((await graph.get(parent)).reason, `its part ${parts[1]?.id} (two) failed`)
  await graph.say(two, { to: 'ready' })
  assert.equal((await graph.get(parent)).state, 'blocked', 'it is open again')
  await finishNext(graph, 'two')
  assert.deepEqual(await graph.states(), { parent: 'done', one: 'done', two: 'done', behind: 'ready' })
  assert.equal((await graph.get(parent)).verification, 'unverified', 'it is no better looked at than its parts')
})

test('parts wait for what their parent comes after', async t => {
  const graph = await openGraph(t)
  const first = await graph.add('first')
  const parent = await graph.add('parent', { after: [first.id] })
  await graph.add('part', { parent: parent.id })
  assert.equal((await graph.states())['part'], 'blocked')
  await finishNext(graph, 'first')
  assert.deepEqual(await graph.states(), { first: 'done', parent: 'blocked', part: 'ready' })
})

test('what a person says holds whatever the state is, and whoever held the task has lost it', async t => {
  const graph = await openGraph(t)
  for (const from of TaskStates.options) {
    for (const to of ['done', 'failed', 'ready'] as const) {
      const task = await inState(graph, from)
      const said = await graph.say(task, { to, reason: 'because' })
      const isThere = from === to || (to === 'ready' && from === 'blocked')
      assert.equal(said.state, isThere ? from : to, `${from} to ${to}`)
      if (!isThere) assert.ok(FORCED_MOVES[from].includes(to), `the table knows ${from} to ${to}`)
      const wasHeld = ['running', 'waiting', 'verifying', 'merging'].includes(from)
      if (wasHeld) await assert.rejects(graph.move(task, { to: 'done', attempt: task.attempt }), { code: 'task_moved' })
      await graph.remove(task, true)
    }
  }
})

test('a task that is reset holds up again what comes after it', async t => {
  const graph = await openGraph(t)
  const a = await graph.add('a')
  await graph.add('b', { after: [a.id] })
  await finishNext(graph, 'a')
  assert.deepEqual(await graph.states(), { a: 'done', b: 'ready' })
  await graph.say(a, { to: 'ready' })
  assert.deepEqual(await graph.states(), { a: 'ready', b: 'blocked' })
})

test('circles are refused with the way round: by itself, through ten, through parts', async t => {
  const graph = await openGraph(t)
  const chain: Task[] = []
  for (let index = 0; index < 11; index++) {
    chain.push(await graph.add(`step ${index}`, { after: chain.slice(-1).map(({ id }) => id) }))
  }
  const [first, last] = [chain[0] as Task, chain.at(-1) as Task]
  const ids = chain.map(({ id }) => id)
  const long = await refusal(graph.after(first, last))
  assert.equal(long.detail['path'], [ids[0], ...ids.toReversed()].join(' → '))
  assert.equal((await refusal(graph.after(first, first))).detail['path'], `${first.id} → ${first.id}`)
  const part = await graph.add('part', { parent: first.id })
  assert.equal((await refusal(graph.after(part, first))).code, 'task_cycle', 'a part cannot wait for its parent')
  assert.equal((await refusal(graph.after(first, part))).code, 'task_cycle', 'nor a parent for its part')
  assert.equal((await refusal(graph.update(last, { parent: first.id }))).code, 'task_cycle')
  const inside = graph.add('in step 0, after step 10', { parent: first.id, after: [last.id] })
  assert.match((await refusal(inside)).message, /→ \(new\) would wait for itself forever/)
})

test('a task that others need is deleted with all of them, or not at all', async t => {
  const graph = await openGraph(t)
  const a = await graph.add('a')
  const b = await graph.add('b', { after: [a.id] })
  const c = await graph.add('c', { after: [b.id] })
  const beside = await graph.add('beside', { after: [] })
  const error = await refusal(graph.remove(a))
  assert.equal(error.code, 'task_needed')
  assert.match(error.message, new RegExp(`${b.id} \\(b\\), ${c.id} \\(c\\)`))
  assert.equal(Object.keys(await graph.states()).length, 4)
  assert.equal((await graph.remove(a, true)).length, 3)
  assert.deepEqual(await graph.states(), { beside: 'ready' })
  const deleted = await graph.store.events({ kinds: ['task.deleted'] })
  assert.deepEqual(
    deleted.map(({ actor, subject, body }) => ({ actor, subject, body })),
    [a, b, c].map(({ id, title }) => ({ actor: 'human', subject: id, body: { task_id: id, title } })),
  )
  await graph.claim()
  assert.equal((await refusal(graph.remove(beside))).code, 'task_at_work')
})

test('of two that claim at once each task goes to one, by priority, then age, within its scope', async t => {
  const graph = await openGraph(t)
  const feature = 'login'
  await graph.add('old')
  await graph.add('urgent', { priority: 5 })
  await graph.add('of the feature', { feature })
  const mother = await graph.add('mother')
  await graph.add('part', { parent: mother.id })
  await graph.add('elsewhere', { project: '/other' })
  await graph.add('in a queue', { session_id: 's-1', text: 'in a queue', title: undefined })
  const scoped = (scope: { feature?: string; task?: string }) =>
    graph.store.transaction(tx => graph.tasks.claimReady({ scope: { project: '/p', ...scope }, run: 'r-2' }, tx))
  assert.equal((await scoped({ feature }))?.title, 'of the feature')
  assert.equal((await scoped({ task: mother.id }))?.title, 'part')
  assert.equal(await scoped({ feature }), undefined)
  const taken = await Promise.all([graph.claim('r-1'), graph.claim('r-2'), graph.claim('r-3')])
  assert.deepEqual(
    taken.map(task => task && [task.title, task.run_id, task.attempt]),
    [['urgent', 'r-1', 1], ['old', 'r-2', 1], undefined],
  )
})

test('a claim for one task takes that one or nothing: neither what a session has in its queue nor what is not ready', async t => {
  const graph = await openGraph(t)
  const urgent = await graph.add('urgent', { priority: 5 })
  const wanted = await graph.add('wanted')
  const queued = await graph.add('in a queue', { session_id: 's-1', text: 'in a queue', title: undefined })
  const later = await graph.add('later', { after: [wanted.id] })
  const claim = (only: string) =>
    graph.store.transaction(tx =>
      graph.tasks.claimReady({ scope: { project: '/p' }, run: 'r-1', session: 's-2', only }, tx),
    )
  assert.equal(await claim(queued.id), undefined)
  assert.equal(await claim(later.id), undefined)
  assert.equal(await claim('t-none'), undefined)
  const held = await claim(wanted.id)
  assert.deepEqual(
    [held?.id, held?.session_id, held?.run_id, held?.lease_owner, held?.attempt],
    [wanted.id, 's-2', 'r-1', 'r-1', 1],
  )
  assert.equal(await claim(wanted.id), undefined, 'somebody has it')
  const rows = await Promise.all([urgent, queued, later].map(each => graph.get(each)))
  assert.deepEqual(
    rows.map(({ state, run_id, session_id, attempt }) => [state, run_id, session_id, attempt]),
    [
      ['ready', null, null, 0],
      ['ready', null, 's-1', 0],
      ['blocked', null, null, 0],
    ],
  )
})

test('what a dead run held is given back, and its attempt cannot speak any more', async t => {
  const graph = await openGraph(t)
  await graph.add('a')
  const held = await graph.claim('r-1')
  assert.ok(held)
  assert.equal((await graph.crash('r-1')).length, 1)
  assert.deepEqual(await graph.crash('r-1'), [])
  const again = await graph.claim('r-2')
  assert.deepEqual([again?.attempt, again?.lease_owner], [2, 'r-2'])
  await assert.rejects(graph.move(held, { to: 'done', attempt: held.attempt }), { code: 'task_moved' })
  const release = (attempt: number) =>
    graph.store.transaction(tx => graph.tasks.release(held.id, { attempt, reason: 'given back' }, tx))
  await assert.rejects(release(1), { code: 'task_moved' })
  const still = await graph.get(held)
  assert.deepEqual([still.state, still.lease_owner, still.run_id, still.attempt], ['running', 'r-2', 'r-2', 2])
  const back = await release(2)
  assert.deepEqual(
    [back.state, back.reason, back.lease_owner, back.run_id, back.attempt],
    ['ready', 'given back', null, null, 2],
  )
})

test('who is gone gives back what they held, by run or by owner, and nothing that others hold', async t => {
  const graph = await openGraph(t)
  const claim = (run: string, owner: string) =>
    graph.store.transaction(tx => graph.tasks.claimReady({ scope: { project: '/p' }, run, owner }, tx))
  for (const title of ['a', 'b', 'c']) await graph.add(title)
  await claim('r-1', 'boot-1')
  await claim('r-2', 'boot-1')
  await claim('r-3', 'boot-2')
  assert.deepEqual(
    (await graph.crash('r-1')).map(({ title }) => title),
    ['a'],
  )
  assert.deepEqual(await graph.states(), { a: 'ready', b: 'running', c: 'running' })
  const given = await graph.store.transaction(tx => graph.tasks.releaseAll({ owner: 'boot-1' }, 'gone', tx))
  assert.deepEqual(
    given.map(({ title, reason, lease_owner }) => [title, reason, lease_owner]),
    [['b', 'gone', null]],
  )
  assert.deepEqual(await graph.states(), { a: 'ready', b: 'ready', c: 'running' })
})

test('a session that claims in a scope takes the first of its own queue and of what is free: by priority, then age', async t => {
  const graph = await openGraph(t)
  const own = { session_id: 's-1', title: undefined }
  await graph.add('', { ...own, text: 'own, urgent', priority: 5 })
  await graph.add('', { ...own, text: 'own, older' })
  await graph.add('free')
  await graph.add('', { ...own, text: 'own, younger' })
  await graph.add('free, urgent', { priority: 3 })
  const taken: (string | undefined)[] = []
  for (let count = 0; count < 5; count++) {
    const request = { scope: { project: '/p' }, run: 'r-1', session: 's-1' }
    const task = await graph.store.transaction(tx => graph.tasks.claimReady(request, tx))
    taken.push(task?.title)
    if (task) await graph.move(task, { to: 'done' })
  }
  assert.deepEqual(taken, ['own, urgent', 'free, urgent', 'own, older', 'free', 'own, younger'])
})

async function finishNext(graph: Graph, title: string): Promise<void> {
  const task = await graph.claim()
  assert.equal(task?.title, title)
  if (task) await graph.move(task, { to: 'done', attempt: task.attempt })
}

const WAYS: Record<TaskState, TaskState[]> = {
  ready: [],
  blocked: [],
  running: [],
  waiting: ['waiting'],
  verifying: ['verifying'],
  merging: ['verifying', 'merging'],
  done: ['done'],
  failed: ['failed'],
  cancelled: ['cancelled'],
}

/** A task in its own project that reached this state in the usual way. */
async function inState(graph: Graph, state: TaskState): Promise<Task> {
  const project = `/${state}-${Math.random()}`
  const before = state === 'blocked' ? [(await graph.add('before', { project })).id] : []
  const task = await graph.add('it', { project, after: before })
  if (state === 'blocked' || state === 'ready') return task
  const held = await graph.claim('r-1', project)
  assert.equal(held?.id, task.id)
  for (const to of WAYS[state]) await graph.move(task, { to })
  return graph.get(task)
}

async function refusal(work: Promise<unknown>): Promise<AppError> {
  const outcome = await work.then(
    () => undefined,
    (error: AppError) => error,
  )
  assert.ok(outcome, 'it is refused')
  return outcome
}
