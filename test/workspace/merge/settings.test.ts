import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Config, defaultValues, nestValues } from '../../../src/domain/config/settings.ts'
import { openMergeFixture } from './merge-fixture.ts'

const settings = (flipped: Partial<ReturnType<typeof defaultValues>> = {}): Config['merge'] =>
  nestValues({ ...defaultValues(), ...flipped }).merge

/** Two tasks from the same commit, queued with these settings. */
async function queued(t: TestContext, { strategy, target, mode, batch, review }: Config['merge']) {
  const world = await openMergeFixture(t, { batch })
  world.git('branch', 'stable')
  for (const task of ['t-000001', 't-000002']) {
    const worktree = await world.work(task, { [`${task}.txt`]: 'new\n' }, target === undefined ? {} : { target })
    await world.enqueue(worktree, { strategy, review: review === 'required', asPullRequest: mode === 'pr' })
  }
  await world.advance()
  const verified = world.told.filter(({ kind }) => kind === 'verified').length
  return { world, verified, states: (await world.deps.store.merges.list()).map(({ state }) => state) }
}

test('merge.strategy: rebased commits stand in a line, merge commits do not', async t => {
  const { world } = await queued(t, settings())
  assert.equal(world.git('rev-list', '--count', '--merges', 'main').trim(), '0')
  const other = await queued(t, settings({ 'merge.strategy': 'merge' }))
  assert.equal(other.world.git('rev-list', '--count', '--merges', 'main').trim(), '2')
})

test('merge.batch: two that are ready are verified once together, or one after the other', async t => {
  const both = await queued(t, settings())
  assert.deepEqual([both.verified, (await both.world.row('t-000001')).batch], [1, 1])
  const alone = await queued(t, settings({ 'merge.batch': 1 }))
  assert.deepEqual([alone.verified, alone.states], [1, ['merged', 'merged']], 'the first had not moved')
  assert.equal((await alone.world.row('t-000001')).batch, null)
})

test('merge.target: work for another branch leaves the one that is checked out alone', async t => {
  const { world, states } = await queued(t, settings({ 'merge.target': 'stable' }))
  assert.deepEqual(states, ['queued', 'queued'], 'the queue of main has nothing to do with it')
  assert.deepEqual(await world.deps.store.merges.queues(), [{ ...world.queue, target: 'stable' }])
})

test('merge.review: required work waits for a person', async t => {
  const { states } = await queued(t, settings({ 'merge.review': 'required' }))
  assert.deepEqual(states, ['review', 'review'])
})

test('merge.mode: for a pull request the target stays where it is', async t => {
  const { world, states } = await queued(t, settings({ 'merge.mode': 'pr' }))
  assert.deepEqual(states, ['waiting', 'waiting'], 'nobody here can open one, and somebody may mend that')
  assert.deepEqual(world.subjects(), ['first'])
})
