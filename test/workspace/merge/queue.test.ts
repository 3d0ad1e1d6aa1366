import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { forgetOldWork } from '../../../src/workspace/merge/restore-work.ts'
import { openMergeFixture } from './merge-fixture.ts'

test('verified work on an unmoved target lands as it is, without another look, and its branch and worktree go', async t => {
  const world = await openMergeFixture(t)
  const worktree = await world.work('t-000001', { 'new.txt': 'new\n' })
  const head = world.tip('pcc/t-000001')
  await world.enqueue(worktree)
  assert.deepEqual(await world.advance(), {})
  assert.deepEqual(world.told, [{ kind: 'merged', task: 't-000001' }])
  assert.equal(world.tip('main'), head)
  assert.equal(readFileSync(join(world.project, 'new.txt'), 'utf8'), 'new\n', 'the main checkout went with it')
  assert.equal(world.git('status', '--porcelain'), '')
  assert.equal(world.git('branch', '--list', 'pcc/*'), '')
  assert.ok(!existsSync(worktree.top))
  const row = await world.row('t-000001')
  assert.deepEqual([row.state, row.result, row.cleaned_at !== null], ['merged', head, true])
})

test('work on a target that has moved is rebased and verified again before it lands', async t => {
  const world = await openMergeFixture(t)
  const worktree = await world.work('t-000001', { 'new.txt': 'new\n' })
  const head = world.tip('pcc/t-000001')
  world.commit({ 'other.txt': 'other\n' })
  await world.enqueue(worktree)
  await world.advance()
  assert.deepEqual(world.told, [
    { kind: 'verified', task: 't-000001', commit: world.tip('main') },
    { kind: 'merged', task: 't-000001' },
  ])
  assert.deepEqual(world.subjects(), ['work of t-000001', 'by hand: other.txt', 'first'])
  assert.equal(world.git('status', '--porcelain'), '')
  assert.equal(world.tip(`refs/pcc/merged/t-000001/${head.slice(0, 12)}`), head, 'what was verified stays reachable')
})

test('work that fails on the moved target goes back with the report, rebased, and lands when it comes again', async t => {
  const world = await openMergeFixture(t)
  const worktree = await world.work('t-000001', { 'new.txt': 'new\n' })
  world.commit({ 'other.txt': 'other\n' })
  const before = world.tip('main')
  world.gates(() => 'failed')
  await world.enqueue(worktree)
  await world.advance()
  assert.deepEqual(
    world.told.map(({ kind }) => kind),
    ['verified', 'refused'],
  )
  assert.equal(world.tip('main'), before)
  assert.match((await world.row('t-000001')).reason ?? '', /on top of main the gates fail: mend the test/)
  assert.ok(existsSync(join(worktree.top, 'other.txt')), 'its worktree is on the new base')
  world.gates(() => 'passed')
  await world.enqueue(worktree)
  await world.advance()
  assert.deepEqual(world.subjects(), ['work of t-000001', 'by hand: other.txt', 'first'])
})

test('the first form of work that landed in another one is forgotten by age, where nothing is under way', async t => {
  const world = await openMergeFixture(t)
  const kept = () =>
    world.git('for-each-ref', '--format=%(refname)', 'refs/pcc/merged').trim().split('\n').filter(Boolean)
  await world.enqueue(await world.work('t-000001', { 'new.txt': 'new\n' }), { strategy: 'squash' })
  await world.advance()
  assert.equal(kept().length, 1)
  const forget = (now: number, days: number) =>
    forgetOldWork({ store: world.deps.store, clock: { now: () => now } }, days, new AbortController().signal)
  assert.equal(await forget(Date.now(), 14), 0)
  const later = Date.now() + 15 * 24 * 60 * 60_000
  const waiting = await world.work('t-000002', { 'other.txt': 'x\n' })
  await world.enqueue(waiting)
  assert.equal(await forget(later, 14), 0, 'something is under way')
  await world.advance()
  assert.equal(await forget(later, 14), kept().length + 1)
  assert.deepEqual(kept(), [])
})

test('gates that looked at another commit than the one to land let nothing land', async t => {
  const world = await openMergeFixture(t)
  const worktree = await world.work('t-000001', { 'new.txt': 'new\n' })
  world.commit({ 'other.txt': 'other\n' })
  const before = world.tip('main')
  const { verify } = world.driver
  world.driver.verify = async prepared => {
    world.gitIn(worktree.top, 'commit', '-q', '--allow-empty', '-m', 'somebody else')
    return { ...(await verify(prepared)), commit: world.gitIn(worktree.top, 'rev-parse', 'HEAD').trim() }
  }
  await world.enqueue(worktree)
  await world.advance()
  assert.equal(world.tip('main'), before)
  assert.match((await world.row('t-000001')).reason ?? '', /looked at another commit/)
})
