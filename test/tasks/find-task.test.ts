import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AppError } from '../../src/base/errors.ts'
import type { Task } from '../../src/domain/task.ts'
import { openQueue, type Queue, SESSION } from './a-queue.ts'

test('a task is meant by its id, a unique beginning of it, its title, or a unique beginning of that', async t => {
  const queue = await openQueue(t)
  const limits = await queue.add('Add rate limits')
  const tests = await queue.add('Add tests')
  for (const ref of [
    limits.id,
    limits.id.slice(2),
    limits.id.toUpperCase(),
    'Add rate limits',
    'add r',
    ' ADD RATE ',
  ]) {
    assert.equal((await resolve(queue, ref)).id, limits.id, ref)
  }
  assert.equal((await resolve(queue, 'Add t')).id, tests.id)
  const error = await refusal(resolve(queue, 'add'))
  assert.equal(error.code, 'task_ambiguous')
  assert.match(error.message, new RegExp(`${limits.id} \\(Add rate limits\\), ${tests.id} \\(Add tests\\)`))
})

test('an unknown task is refused, naming what there is', async t => {
  const queue = await openQueue(t)
  assert.equal((await refusal(queue.add('x', { after: ['nothing'] }))).next, 'It has: no task yet')
  const first = await queue.add('Build it')
  const other = await queue.add('Elsewhere', { session: 's-other' })
  for (const ref of ['deploy', other.id, '', ' ', '%']) {
    const error = await refusal(queue.add('x', { after: [ref] }))
    assert.deepEqual([error.code, error.next], ['task_unknown', `It has: ${first.id} (Build it)`], ref)
  }
  for (let index = 0; index < 10; index++) await queue.add(`Task ${index}`)
  assert.match((await refusal(queue.add('x', { after: ['deploy'] }))).next, /Task 6\), 3 more$/)
})

test('of two tasks with one title the open one is meant', async t => {
  const queue = await openQueue(t)
  const old = await queue.add('Run the tests')
  await queue.claim()
  await queue.move(old, 'done')
  assert.equal((await resolve(queue, 'run the')).id, old.id)
  const young = await queue.add('Run the tests')
  assert.equal((await resolve(queue, 'run the')).id, young.id)
  assert.equal((await resolve(queue, old.id)).id, old.id)
})

test('a circle of tasks is refused, naming the way round, however long it is', async t => {
  const queue = await openQueue(t)
  const chain: Task[] = []
  for (let index = 0; index < 11; index++) {
    const before = chain.at(-1)
    chain.push(await queue.add(`step ${index}`, before ? { after: [before.id] } : {}))
  }
  const [first, last] = [chain[0], chain.at(-1)]
  assert.ok(first && last)
  const error = await refusal(addDependency(queue, first, last))
  assert.equal(error.code, 'task_cycle')
  const path = [first, ...chain.toReversed()].map(({ id }) => id).join(' → ')
  assert.equal(error.message, `Task ${first.id} cannot come after ${last.id}: ${path} would wait for itself forever.`)
  assert.equal((await queue.get(first)).state, 'ready', 'nothing was changed')
  const own = await refusal(addDependency(queue, first, first))
  assert.match(own.message, new RegExp(`: ${first.id} → ${first.id} would`))
})

test('a task that has not begun can be made to come after another one', async t => {
  const queue = await openQueue(t)
  const [a, b, c] = [await queue.add('a'), await queue.add('b'), await queue.add('c')]
  assert.deepEqual([(await addDependency(queue, a, b)).state, (await queue.get(a)).open_blockers], ['blocked', 1])
  await addDependency(queue, a, b)
  assert.equal((await addDependency(queue, a, c)).open_blockers, 2, 'the same one twice counts once')
  assert.deepEqual(await queue.titles(), ['b', 'c', 'a'])
  await queue.claim()
  assert.equal((await refusal(addDependency(queue, b, c))).code, 'task_move_refused')
  await queue.move(b, 'done')
  assert.equal((await refusal(addDependency(queue, b, b))).code, 'task_cycle', 'also where it is done')
  assert.equal((await addDependency(queue, c, b)).state, 'ready', 'one that is done holds nothing up')
})

function resolve(queue: Queue, ref: string): Promise<Task> {
  return queue.tasks.resolve(ref, SESSION)
}

function addDependency(queue: Queue, task: Task, blocker: Task): Promise<Task> {
  return queue.store.transaction(tx => queue.tasks.addDependency(task.id, blocker.id, tx))
}

async function refusal(outcome: Promise<unknown>): Promise<AppError> {
  const thrown = await outcome.then(
    () => assert.fail('it was not refused'),
    (error: unknown) => error,
  )
  assert.ok(thrown instanceof AppError, String(thrown))
  return thrown
}

test('a name with a # in it, such as that of an issue, is found, also behind a project whose path has one', async t => {
  const { store, tasks } = await openQueue(t)
  const submit = (project: string, alias: string) =>
    store.transaction(tx => tasks.submit({ session_id: null, project, text: 'x', alias }, tx))
  const [here, there] = [await submit('/p', 'acme/shop#7'), await submit('/p#2', 'acme/shop#7')]
  const find = async (ref: string) => (await tasks.find(ref)).id
  assert.deepEqual([await find('/p#acme/shop#7'), await find('/p#2#acme/shop#7')], [here.id, there.id])
  assert.deepEqual([await find(`/p#2#${here.id}`), await find(here.id)], [here.id, here.id])
  assert.deepEqual(
    [await find(`/p#${here.id.slice(0, 6)}`), await find(`/p#2#${there.id.slice(0, 6)}`)],
    [here.id, there.id],
  )
  // The number of an issue is also how the id of some task may begin.
  const digit = there.id.charAt(2)
  assert.equal((await refusal(tasks.find(`/p#acme/market#${digit}`))).code, 'task_not_there')
})
