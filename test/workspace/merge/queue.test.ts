import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { mergeWorld } from './merge-world.ts'

test('verified work on an unmoved target lands as it is, without another look, and its branch and worktree go', async t => {
  const world = await mergeWorld(t)
  const place = await world.work('t-000001', { 'new.txt': 'new\n' })
  const head = world.tip('pcc/t-000001')
  await world.enqueue(place)
  assert.deepEqual(await world.advance(), {})
  assert.deepEqual(world.told, [{ kind: 'landed', task: 't-000001' }])
  assert.equal(world.tip('main'), head)
  assert.equal(readFileSync(join(world.project, 'new.txt'), 'utf8'), 'new\n', 'the main checkout went with it')
  assert.equal(world.git('status', '--porcelain'), '')
  assert.equal(world.git('branch', '--list', 'pcc/*'), '')
  assert.ok(!existsSync(place.top))
  const row = await world.row('t-000001')
  assert.deepEqual([row.state, row.result, row.cleaned_at !== null], ['merged', head, true])
})

test('work on a target that has moved is rebased and verified again before it lands', async t => {
  const world = await mergeWorld(t)
  const place = await world.work('t-000001', { 'new.txt': 'new\n' })
  const head = world.tip('pcc/t-000001')
  world.commit({ 'other.txt': 'other\n' })
  await world.enqueue(place)
  await world.advance()
  assert.deepEqual(world.told, [
    { kind: 'verified', task: 't-000001', commit: world.tip('main') },
    { kind: 'landed', task: 't-000001' },
  ])
  assert.deepEqual(world.subjects(), ['work of t-000001', 'by hand: other.txt', 'first'])
  assert.equal(world.git('status', '--porcelain'), '')
  assert.equal(world.tip('refs/pcc/archive/t-000001/1'), head, 'what was verified stays reachable')
})

test('work that fails on the moved target goes back with the report, rebased, and lands when it comes again', async t => {
  const world = await mergeWorld(t)
  const place = await world.work('t-000001', { 'new.txt': 'new\n' })
  world.commit({ 'other.txt': 'other\n' })
  const before = world.tip('main')
  world.gates(() => 'failed')
  await world.enqueue(place)
  await world.advance()
  assert.deepEqual(
    world.told.map(({ kind }) => kind),
    ['verified', 'sentBack'],
  )
  assert.equal(world.tip('main'), before)
  assert.match((await world.row('t-000001')).reason ?? '', /on top of main the gates fail: mend the test/)
  assert.ok(existsSync(join(place.top, 'other.txt')), 'its worktree is on the new base')
  world.gates(() => 'passed')
  await world.enqueue(place)
  await world.advance()
  assert.deepEqual(world.subjects(), ['work of t-000001', 'by hand: other.txt', 'first'])
})
