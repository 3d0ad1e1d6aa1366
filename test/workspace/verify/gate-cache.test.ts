import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Worktree } from '../../../src/domain/worktree.ts'
import { verify } from '../../../src/workspace/verify/verify.ts'
import { openVerifyFixture, type VerifyFixture } from './worktree-fixture.ts'

/** Whether the result of the test gate came from the cache. */
async function isCached(
  work: VerifyFixture,
  command: string,
  more: Parameters<VerifyFixture['deps']>[0] = {},
  profile = 'standard',
) {
  const gates = { commands: { test: command }, profile: profile as 'standard' }
  const { checks } = await verify(work.request({}, gates), work.deps(more))
  return checks.find(({ gate }) => gate === 'test')?.cached
}

test('a command that was green on the same tree is not run again, and the evidence says so', async t => {
  const work = await openVerifyFixture(t)
  const command = 'echo ran; echo >>../count'
  assert.equal(await isCached(work, command), false)
  assert.equal(await isCached(work, command), true)
  const row = (await work.store.evidence.latest('t-1')).find(({ gate }) => gate === 'test')
  assert.deepEqual([row?.status, row?.output, row?.exit], ['passed', 'ran\n', 0])
})

test('another tree, another command and another variable are another thing', async t => {
  const work = await openVerifyFixture(t)
  await isCached(work, 'true')
  assert.equal(await isCached(work, 'true '), false)
  assert.equal(await isCached(work, 'true', { env: { PATH: process.env['PATH'], LANG: 'C' } }), false)
  work.write('a.txt', 'another\n')
  assert.equal(await isCached(work, 'true'), false)
})

test('what is installed counts, also where git ignores it', async t => {
  const work = await openVerifyFixture(t, { '.gitignore': 'node_modules\npackage-lock.json\n' })
  await isCached(work, 'true')
  assert.equal(await isCached(work, 'true'), true)
  work.write('package-lock.json', '{}')
  assert.equal(await isCached(work, 'true'), false)
  assert.equal(await isCached(work, 'true'), true)
  work.write('node_modules/.package-lock.json', '{}')
  assert.equal(await isCached(work, 'true'), false)
})

test('a tool of another version is another thing', async t => {
  const work = await openVerifyFixture(t)
  const bin = join(work.worktree.top, '..', 'bin')
  mkdirSync(bin)
  const tool = (text: string) => {
    writeFileSync(join(bin, 'mytool'), `#!/bin/sh\n${text}\n`)
    chmodSync(join(bin, 'mytool'), 0o755)
  }
  const more = { env: { PATH: `${bin}:${process.env['PATH']}` } }
  tool('true')
  await isCached(work, 'mytool', more)
  assert.equal(await isCached(work, 'mytool', more), true)
  tool('true # newer')
  assert.equal(await isCached(work, 'mytool', more), false)
})

test('another version of a tool that the command does not name is another thing, in every ecosystem', async t => {
  const work = await openVerifyFixture(t)
  const bin = join(work.worktree.top, '..', 'bin')
  mkdirSync(bin)
  const more = { env: { PATH: `${bin}:${process.env['PATH']}` } }
  for (const name of ['mix', 'swift', 'dart', 'zig']) {
    writeFileSync(join(bin, name), '#!/bin/sh\n', { mode: 0o755 })
    await isCached(work, 'true', more)
    assert.equal(await isCached(work, 'true', more), true)
    writeFileSync(join(bin, name), '#!/bin/sh\n# newer\n')
    assert.equal(await isCached(work, 'true', more), false, name)
  }
})

test('what was green in the project itself, where nobody cleans before, is run again in a worktree, and the other way round', async t => {
  const work = await openVerifyFixture(t, { '.gitignore': 'planted\n' })
  const gates = { commands: { test: 'test -e planted' } }
  work.write('planted', 'x\n')
  const cachedIn = async (worktree: Worktree | undefined) => {
    const { checks } = await verify(work.request({ worktree }, gates), work.deps())
    return checks.find(({ gate }) => gate === 'test')?.cached
  }
  const places = [undefined, work.worktree, undefined, work.worktree]
  const cached = []
  for (const place of places) cached.push(await cachedIn(place))
  assert.deepEqual(cached, [false, false, true, true])
})

test('red is never kept', async t => {
  const work = await openVerifyFixture(t)
  assert.equal(await isCached(work, 'false'), false)
  assert.equal(await isCached(work, 'false'), false)
})

test('what changed the tree is not kept as green', async t => {
  const work = await openVerifyFixture(t)
  const gates = { commands: { build: 'echo x >a.txt' } }
  for (const round of [1, 2]) {
    const { checks } = await verify(work.request({ round }, gates), work.deps())
    assert.equal(checks.find(({ gate }) => gate === 'build')?.cached, false)
  }
})

test('the deep profile runs everything again', async t => {
  const work = await openVerifyFixture(t)
  await isCached(work, 'true')
  assert.equal(await isCached(work, 'true', {}, 'deep'), false)
})

test('a result that is too old does not count', async t => {
  const work = await openVerifyFixture(t)
  const at = (now: number) => ({ clock: { now: () => now } })
  await isCached(work, 'true', at(1_000))
  assert.equal(await isCached(work, 'true', at(2_000)), true)
  assert.equal(await isCached(work, 'true', at(15 * 86_400_000)), false)
})
