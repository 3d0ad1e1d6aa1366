import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, lstatSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import {
  findCheckouts,
  freeIndexLock,
  readIndexLock,
  repairCheckout,
  takeIndexLock,
} from '../../../src/workspace/merge/target-checkout.ts'
import { tempDir } from '../../support/world.ts'
import { write } from '../worktrees/worktree-fixture.ts'
import { openMergeFixture } from './merge-fixture.ts'

/** A process that no longer exists. */
const DEAD = 'pcc-merge {from} {to} 999999999 nobody\n'

/** A checkout that was being moved from `from` to `to` when the daemon died. */
async function dying(t: TestContext) {
  const world = await openMergeFixture(t, {
    files: { 'a.txt': 'old\n', 'gone.txt': 'gone\n', 'dir/x': 'x\n', same: 's\n' },
  })
  const from = world.tip('main')
  const worktree = await world.make()
  write(worktree.top, { 'a.txt': 'a longer new text\n', 'deep/er/new.txt': 'new\n' })
  rmSync(join(worktree.top, 'gone.txt'))
  rmSync(join(worktree.top, 'dir'), { recursive: true })
  symlinkSync('a.txt', join(worktree.top, 'dir'))
  world.gitIn(worktree.top, 'add', '-A')
  world.gitIn(worktree.top, 'commit', '-qm', 'work')
  const to = world.tip('pcc/t-000001')
  const own = join(world.project, '.git')
  const [checkout] = (await findCheckouts(own, 'main')) ?? []
  assert.ok(checkout)
  const lock = () => writeFileSync(join(own, 'index.lock'), DEAD.replace('{from}', from).replace('{to}', to))
  /** Does what `git read-tree -m -u` does with another index file: the files are new, the index is the old one. */
  const bringFiles = () => {
    rmSync(join(world.project, 'dir'), { recursive: true })
    world.git('checkout', '-q', to, '--', 'a.txt', 'deep', 'dir')
    world.git('reset', '-q')
    rmSync(join(world.project, 'gone.txt'))
  }
  return { world, from, to, own, checkout, lock, bringFiles }
}

test('files of a branch that had not moved go back, whole or half written, and so do their folders', async t => {
  const { world, checkout, lock, own, bringFiles } = await dying(t)
  bringFiles()
  write(world.project, { 'a.txt': 'a longer' })
  lock()
  assert.equal(await repairCheckout(checkout), true)
  assert.equal(world.git('status', '--porcelain'), '')
  assert.ok(!existsSync(join(world.project, 'deep')))
  assert.ok(!existsSync(join(own, 'index.lock')) && !existsSync(join(own, 'pcc-index')))
})

test('what a person wrote since stays as it is', async t => {
  const { world, checkout, lock, bringFiles } = await dying(t)
  bringFiles()
  write(world.project, { 'a.txt': 'by hand\n', 'deep/er/mine.txt': 'mine\n' })
  lock()
  await repairCheckout(checkout)
  assert.equal(readFileSync(join(world.project, 'a.txt'), 'utf8'), 'by hand\n')
  assert.equal(world.git('status', '--porcelain', '-uall'), ' M a.txt\n?? deep/er/mine.txt\n')
})

test('the index follows a branch that had moved, and what a person has staged in other files stays staged', async t => {
  const { world, checkout, lock, to, bringFiles } = await dying(t)
  bringFiles()
  write(world.project, { same: 'mine\n' })
  world.git('add', 'same')
  world.git('update-ref', 'refs/heads/main', to)
  assert.notEqual(world.git('status', '--porcelain'), '')
  lock()
  await repairCheckout(checkout)
  assert.equal(world.git('status', '--porcelain'), 'M  same\n')
  assert.equal(world.tip('HEAD'), to)
})

test('a lock is taken once, says whose it is, and is left alone while its owner lives or where it is not ours', async t => {
  const { world, checkout, own, from, to } = await dying(t)
  assert.equal(await takeIndexLock(own, from, to), true)
  assert.equal(await takeIndexLock(own, from, to), false)
  assert.deepEqual(await readIndexLock(own), { from, to, isHeld: true })
  assert.equal(await repairCheckout(checkout), false)
  assert.throws(() => world.git('commit', '-q', '--allow-empty', '-m', 'x'), /index\.lock/, 'nobody commits meanwhile')
  await freeIndexLock(own)
  writeFileSync(join(own, 'index.lock'), '')
  assert.equal(await repairCheckout(checkout), false)
  assert.ok(existsSync(join(own, 'index.lock')))
})

test('a lock that an agent has planted gives git no words of its own, and a pipe in the checkout is not waited for', async t => {
  const { world, own, checkout, to, lock, bringFiles } = await dying(t)
  const victim = join(tempDir(t), 'victim')
  for (const [from, target] of [
    [`--output=${victim}`, to],
    [`--index-output=${victim}`, world.tip('main')],
  ]) {
    writeFileSync(join(own, 'index.lock'), `pcc-merge ${from} ${target} 999999999 nobody\n`)
    assert.equal(await readIndexLock(own), undefined)
    assert.equal(await repairCheckout(checkout), false)
  }
  assert.ok(!existsSync(victim))
  await freeIndexLock(own)
  bringFiles()
  rmSync(join(world.project, 'a.txt'))
  execFileSync('mkfifo', [join(world.project, 'a.txt')])
  lock()
  assert.equal(await repairCheckout(checkout), true)
  assert.ok(lstatSync(join(world.project, 'a.txt')).isFIFO(), 'it is left to the person')
})
