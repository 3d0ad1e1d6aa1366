import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AppError } from '../../../src/base/errors.ts'
import { settleOutcomes } from '../../../src/workspace/merge/outcomes.ts'
import { MergeQueue } from '../../../src/workspace/merge/queue.ts'
import { write } from '../worktrees/worktree-fixture.ts'
import { type MergeFixture, openMergeFixture, verificationOf } from './merge-fixture.ts'

const queueOf = ({ queue, driver }: MergeFixture) => new MergeQueue(queue, driver.batch, driver.deps)

test('a step says that work is merged before its row does, and both come with what is done to its task, or not at all', async t => {
  const world = await openMergeFixture(t)
  await world.enqueue(await world.work('t-000001', { 'new.txt': 'new\n' }))
  const head = world.tip('pcc/t-000001')
  const queue = queueOf(world)
  const step = await queue.next()
  assert.ok(step.kind === 'land', 'its gates have already seen this tree')
  const landed = await queue.land(step)
  assert.deepEqual(
    landed.outcomes.map(outcome => [outcome.kind, outcome.kind === 'merged' && outcome.result]),
    [['merged', head]],
  )
  assert.equal(world.tip('main'), head)
  assert.equal((await world.row('t-000001')).state, 'landing')
  const refused = settleOutcomes(landed.outcomes, world.driver.deps, async () =>
    assert.fail('the task cannot be moved'),
  )
  await assert.rejects(refused, /the task cannot be moved/)
  assert.equal((await world.row('t-000001')).state, 'landing')
  assert.deepEqual(await world.deps.store.events({ kinds: ['merge.landed'] }), [])
  const states: string[] = []
  await settleOutcomes(landed.outcomes, world.driver.deps, async ({ merge }) => void states.push(merge.state))
  assert.deepEqual(states, ['merged'])
  assert.equal((await world.row('t-000001')).state, 'merged')
  assert.deepEqual(await queue.next(), { kind: 'wait', outcomes: [] })
})

test('a step names the commit that has to be verified, and the result decides the next one', async t => {
  const world = await openMergeFixture(t)
  const worktree = await world.work('t-000001', { 'new.txt': 'new\n' })
  world.commit({ 'other.txt': 'other\n' })
  const before = world.tip('main')
  await world.enqueue(worktree)
  const queue = queueOf(world)
  const step = await queue.next()
  assert.ok(step.kind === 'verify')
  const { last, tip, rows } = step.batch
  assert.deepEqual([last.result, tip, rows.length], [world.tip('pcc/t-000001'), before, 1])
  assert.equal(last.worktree.top, worktree.top)
  const result = verificationOf('failed', last.result)
  const refused = await queue.verified(step, result)
  assert.deepEqual(
    refused.outcomes.map(outcome => [outcome.kind, outcome.kind === 'refused' && outcome.result]),
    [['refused', result]],
  )
  assert.deepEqual([refused.kind, world.tip('main')], ['again', before])
})

test('a conflict that an agent must resolve is an outcome; the row and the other merges stay as they are', async t => {
  const world = await openMergeFixture(t, { batch: 2 })
  await world.enqueue(await world.work('t-000001', { 'a.txt': 'one\ntask\nthree\n' }))
  await world.enqueue(await world.work('t-000002', { 'b.txt': 'b\n' }))
  world.commit({ 'a.txt': 'one\nperson\nthree\n' })
  const step = await queueOf(world).next()
  const [outcome, ...more] = step.outcomes
  assert.ok(step.kind === 'again' && outcome?.kind === 'conflicted')
  assert.deepEqual(
    outcome.conflict.files.map(({ path }) => path),
    ['a.txt'],
  )
  assert.deepEqual(more, [])
  assert.equal((await world.row('t-000001')).state, 'rebasing')
  assert.equal((await world.row('t-000002')).state, 'queued')
})

test('a target that cannot be moved now is a step that waits, with the reason in the row and a time to look again', async t => {
  const world = await openMergeFixture(t)
  await world.enqueue(await world.work('t-000001', { 'a.txt': 'new\n' }))
  write(world.project, { 'a.txt': 'in the middle of something\n' })
  const queue = queueOf(world)
  const step = await queue.next()
  assert.ok(step.kind === 'land')
  assert.equal((await queue.land(step)).kind, 'again', 'others may land')
  const waits = await queue.next()
  assert.ok(waits.kind === 'wait' && waits.checkAgainAt !== undefined)
  const { state, reason } = await world.row('t-000001')
  assert.equal(state, 'waiting')
  assert.match(reason ?? '', /has changes that are not committed: a\.txt/)
})

test('an error while merges are tried leaves them in the queue with the reason; any other error is thrown', async t => {
  const world = await openMergeFixture(t)
  await world.enqueue(await world.work('t-000001', { 'new.txt': 'new\n' }))
  const queue = queueOf(world)
  await assert.rejects(queue.fail(new Error('the store is gone')), /the store is gone/)
  await queue.next()
  const failed = await queue.fail(new Error('the gates cannot start'))
  assert.equal(failed.kind, 'wait')
  const { state, reason } = await world.row('t-000001')
  assert.deepEqual([state, reason], ['waiting', 'it failed: the gates cannot start'])
})

test('a merge whose verifier has no account now waits for the account and has not failed', async t => {
  const world = await openMergeFixture(t)
  await world.enqueue(await world.work('t-000001', { 'new.txt': 'new\n' }))
  const queue = queueOf(world)
  await queue.next()
  assert.equal((await queue.fail(new AppError('account_limited', { until: '' }))).kind, 'wait')
  const { state, reason } = await world.row('t-000001')
  assert.deepEqual([state, reason], ['waiting', 'it waits until the account of its verifier can be used'])
})
