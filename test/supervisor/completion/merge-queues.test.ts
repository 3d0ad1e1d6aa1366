import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { TaskState } from '../../../src/domain/task.ts'
import { MergeQueues } from '../../../src/supervisor/completion/merge-queues.ts'
import type { SupervisorContext } from '../../../src/supervisor/context.ts'
import { openTasks } from '../../../src/tasks/tasks.ts'
import { openMergeFixture } from '../../workspace/merge/merge-fixture.ts'

const SESSION = 's-000001'

/** Drives the merge of verified work of attempt 1 while its task is at another attempt, or in another state. */
async function queuedWork(t: TestContext, { attempt = 1, state = 'merging' }: { attempt?: number; state?: TaskState }) {
  const world = await openMergeFixture(t)
  const { store, clock, log } = world.deps
  const tasks = openTasks({ store, clock })
  const { project } = world
  await store.sessions.insert({ id: SESSION, name: 'one', project, task: 'do it', agent: 'none' })
  const { id } = await store.transaction(tx => tasks.submit({ session_id: SESSION, project, text: 'do it' }, tx))
  const worktree = await world.work(id, { 'new.txt': 'new\n' })
  await world.enqueue(worktree)
  const options = { project, task: 'do it', place: { ...worktree, attempt } }
  await store.transaction(async tx => {
    await store.sessions.update(SESSION, { options, task_id: id }, tx)
    for (let count = 1; count < attempt; count++) {
      await tasks.claimNext(SESSION, tx)
      await tasks.transition(id, { to: 'ready' }, tx)
    }
    await tasks.claimNext(SESSION, tx)
    await tasks.transition(id, { to: 'verifying' }, tx)
    if (state !== 'verifying') await tasks.transition(id, { to: state }, tx)
  })
  // Only what a merge without another verification uses.
  const supervisor = { deps: { store, clock, tasks }, log, prepareDeps: { env: {} } } as unknown as SupervisorContext
  const never = () => assert.fail('nothing is verified again, and nobody is asked')
  const queues = new MergeQueues({
    ...{ supervisor, settingsOf: never, verify: never, describeUnproven: never, wake: never },
    batchOf: async () => 1,
  })
  await queues.advance(world.queue, new AbortController().signal)
  return { world, task: await store.tasks.get(id), merge: await world.row(id) }
}

test('the merge of the attempt that a task waits for lands, and its task is done', async t => {
  const { world, task, merge } = await queuedWork(t, {})
  assert.deepEqual([merge.state, task?.state], ['merged', 'done'])
  assert.equal(world.subjects().length, 2)
})

test('the merge of an older attempt does not land while its task waits for that of a newer one', async t => {
  const { world, task, merge } = await queuedWork(t, { attempt: 2 })
  assert.deepEqual([merge.state, task?.state, task?.attempt], ['aborted', 'merging', 2])
  assert.match(merge.reason ?? '', /a newer attempt at the task has begun/)
  assert.deepEqual(world.subjects(), ['first'])
})

for (const state of ['verifying', 'cancelled'] as const) {
  test(`a merge does not land while its task is ${state}`, async t => {
    const { world, task, merge } = await queuedWork(t, { state })
    assert.deepEqual([merge.state, task?.state], ['aborted', state])
    assert.deepEqual(world.subjects(), ['first'])
  })
}
