import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { MergeView } from '../../../src/domain/merge.ts'
import { bareEnv } from '../../support/world.ts'
import { type LandWorld, landWorld, write, writer } from './completion-world.ts'

/** A run whose only task is verified and cannot be merged: the checkout has uncommitted changes of a person. */
async function heldUp(world: LandWorld) {
  writeFileSync(join(world.project, 'README.md'), 'in the middle of something\n')
  const task = await world.add('make a.txt')
  const { id } = await world.run()
  await world.since(id, ({ kind }) => kind === 'merge.held_up')
  const { body } = await world.call('GET', '/merges')
  const merge: MergeView = body.merges[0]
  assert.match(merge.reason ?? '', /has changes that are not committed: README\.md/)
  return { task, run: id, merge }
}

const agent = () =>
  writer({
    'make a.txt': cwd => write(cwd, 'README.md', 'new\n') && write(cwd, 'a.txt', 'a\n'),
    'make b.txt': cwd => write(cwd, 'b.txt', 'b\n'),
  })

test('a merge that waits for the checkout lands at once when a person says to look again', async t => {
  const world = await landWorld(t, agent())
  const { task, run } = await heldUp(world)
  world.git('checkout', '-q', '--', 'README.md')
  const { body } = await world.call('POST', `/merges/${task}/retry`, {})
  assert.equal(body.merge.task_id, task)
  assert.equal((await world.over(run)).outcome, 'complete')
  assert.equal(world.git('show', 'main:a.txt'), 'a')
  await world.tidy()
})

test('while a merge waits for the checkout, other tasks begin and land, and it lands by itself when the checkout is clean', async t => {
  const world = await landWorld(t, agent())
  const other = await world.add('make b.txt', { after: [], priority: -1 })
  const { task, run } = await heldUp(world)
  await world.since(run, ({ kind, subject }) => kind === 'merge.landed' && subject === other)
  assert.equal(world.git('status', '--porcelain'), 'M README.md', 'the person’s change is as it was')
  world.git('checkout', '-q', '--', 'README.md')
  assert.equal((await world.over(run)).outcome, 'complete')
  assert.equal((await world.task(task)).state, 'done')
  await world.tidy()
})

test('a merge that is called off leaves the work on its branch and asks a person; tried again it lands', async t => {
  const world = await landWorld(t, agent())
  const { task, run, merge } = await heldUp(world)
  const aborted = await world.call('POST', `/merges/${merge.id}/abort`, {})
  assert.equal(aborted.body.merge.state, 'aborted')
  assert.notEqual(world.git('branch', '--list', `pcc/${task}`), '')
  world.git('checkout', '-q', '--', 'README.md')
  while ((await world.store.escalations.count(['open'])) === 0) await sleep(20)
  assert.throws(() => world.git('show', 'main:a.txt'))
  const again = await world.call('POST', `/merges/${task}/retry`, {})
  assert.equal(again.status, 200, JSON.stringify(again.body))
  assert.equal((await world.over(run)).outcome, 'complete')
  assert.equal(world.git('show', 'main:a.txt'), 'a')
  await world.tidy()
})

test('a task whose merge waits is not called done without its work: the person is told so, and the merge lands later', async t => {
  const world = await landWorld(t, agent())
  const { task, run } = await heldUp(world)
  const { status, body } = await world.call('POST', `/tasks/${task}/done`, {})
  assert.deepEqual([status, body.error?.code], [409, 'task_merging'], JSON.stringify(body))
  assert.match(body.error.message, /waits to be merged into main: .*README\.md/)
  assert.match(body.error.next, new RegExp(`pcc merge abort ${task} && pcc task done ${task}`))
  assert.equal((await world.call('GET', '/merges')).body.merges[0].state, 'waiting')
  world.git('checkout', '-q', '--', 'README.md')
  assert.equal((await world.over(run)).outcome, 'complete')
  assert.equal(world.git('show', 'main:a.txt'), 'a')
  await world.tidy()
})

test('a task that is called done without its work says where the work is, and the named command brings it in', async t => {
  const world = await landWorld(t, agent())
  const { task, run, merge } = await heldUp(world)
  await world.call('POST', `/merges/${merge.id}/abort`, {})
  const { body } = await world.call('POST', `/tasks/${task}/done`, { reason: 'good enough' })
  assert.equal(body.task.state, 'done', JSON.stringify(body))
  assert.match(body.task.reason, new RegExp(`^good enough; its work is not merged: .*git merge pcc/${task}`))
  assert.equal((await world.over(run)).outcome, 'complete')
  const { body: report } = await world.call('GET', `/report?since=1h&zone=UTC`)
  assert.match(report.done[0].note, /its work is not merged/, JSON.stringify(report.done))
  const { status, body: refused } = await world.call('POST', `/merges/${merge.id}/retry`, {})
  assert.deepEqual([status, refused.error.code], [409, 'merge_not_so'])
  world.git('checkout', '-q', '--', 'README.md')
  const command = /with: (git .*)$/.exec(refused.error.next)?.[1] ?? refused.error.next
  execFileSync('sh', ['-c', command], { cwd: world.project, env: bareEnv(world.project), stdio: 'pipe' })
  assert.equal(world.git('show', 'main:a.txt'), 'a')
})
