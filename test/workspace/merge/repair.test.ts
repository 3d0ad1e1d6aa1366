import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, lstatSync, readFileSync, rmSync, symlinkSync, watch, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import {
  findCheckouts,
  freeIndexLock,
  isForbiddenPath,
  openIndexCopy,
  readIndexLock,
  repairCheckout,
  takeIndexLock,
} from '../../../src/workspace/merge/target-checkout.ts'
import { tempDir } from '../../support/world.ts'
import { write } from '../worktrees/worktree-fixture.ts'
import { recover } from './drive-queue.ts'
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
  const [checkout] = (await findCheckouts(own, 'main', [])) ?? []
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
  const { world, checkout, lock, own, to, bringFiles } = await dying(t)
  bringFiles()
  write(world.project, { 'a.txt': 'a longer' })
  lock()
  assert.equal(await repairCheckout(checkout, [to]), true)
  assert.equal(world.git('status', '--porcelain'), '')
  assert.ok(!existsSync(join(world.project, 'deep')))
  assert.ok(!existsSync(join(own, 'index.lock')) && !existsSync(join(own, 'pcc-index')))
})

test('what a person wrote since stays as it is', async t => {
  const { world, checkout, lock, to, bringFiles } = await dying(t)
  bringFiles()
  write(world.project, { 'a.txt': 'by hand\n', 'deep/er/mine.txt': 'mine\n' })
  lock()
  await repairCheckout(checkout, [to])
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
  await repairCheckout(checkout, [to])
  assert.equal(world.git('status', '--porcelain'), 'M  same\n')
  assert.equal(world.tip('HEAD'), to)
})

test('a lock is taken once, says whose it is, and is left alone while its owner lives or where it is not ours', async t => {
  const { world, checkout, own, from, to } = await dying(t)
  assert.equal(await takeIndexLock(own, from, to), true)
  assert.equal(await takeIndexLock(own, from, to), false)
  assert.deepEqual(await readIndexLock(own), { from, to, isHeld: true })
  assert.equal(await repairCheckout(checkout, [to]), false)
  assert.throws(() => world.git('commit', '-q', '--allow-empty', '-m', 'x'), /index\.lock/, 'nobody commits meanwhile')
  await freeIndexLock(own)
  writeFileSync(join(own, 'index.lock'), '')
  assert.equal(await repairCheckout(checkout, [to]), false)
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
    assert.equal(await repairCheckout(checkout, [to]), false)
  }
  assert.ok(!existsSync(victim))
  await freeIndexLock(own)
  bringFiles()
  rmSync(join(world.project, 'a.txt'))
  execFileSync('mkfifo', [join(world.project, 'a.txt')])
  lock()
  assert.equal(await repairCheckout(checkout, [to]), true)
  assert.ok(lstatSync(join(world.project, 'a.txt')).isFIFO(), 'it is left to the person')
})

test('a lock in our words that the store knows nothing of is somebody else’s: nothing is repaired, the merge waits, and the lock stays', async t => {
  const { world, own, checkout, from, to } = await dying(t)
  const lock = join(own, 'index.lock')
  const forge = (one: string, other: string) => writeFileSync(lock, DEAD.replace('{from}', one).replace('{to}', other))
  const unrelated = world.git('commit-tree', '-m', 'x', `${to}^{tree}`).trim()
  for (const [one, other] of [
    [from, from],
    [unrelated, to],
    [to, to],
  ] as const) {
    forge(one, other)
    assert.equal(await repairCheckout(checkout, [to]), false, `${one} ${other}`)
  }
  forge(from, from)
  await world.enqueue(await world.work('t-000002', { 'b.txt': 'b\n' }))
  await recover(world.driver)
  await world.advance()
  const { state, reason } = await world.row('t-000002')
  assert.equal(state, 'waiting')
  assert.match(reason ?? '', /index\.lock is there/)
  assert.equal(readFileSync(lock, 'utf8'), DEAD.replace('{from}', from).replace('{to}', from))
  rmSync(lock)
  await world.advance()
  assert.equal((await world.row('t-000002')).state, 'merged')
})

test('an index that an agent made a link is not read, and a repair writes nothing of its own where an agent can write', async t => {
  const { world, own, checkout, to, lock, bringFiles } = await dying(t)
  const index = readFileSync(join(own, 'index'))
  const key = join(tempDir(t), 'key')
  writeFileSync(key, 'a key of the person\n')
  rmSync(join(own, 'index'))
  symlinkSync(key, join(own, 'index'))
  await assert.rejects(openIndexCopy(own), /ELOOP/)
  rmSync(join(own, 'index'))
  writeFileSync(join(own, 'index'), index)
  bringFiles()
  const seen = new Set<string>()
  const watcher = watch(own, (_, name) => seen.add(name ?? ''))
  lock()
  assert.equal(await repairCheckout(checkout, [to]), true)
  const told = once(watcher, 'close')
  writeFileSync(join(own, 'end'), '')
  while (!seen.has('end')) await once(watcher, 'change')
  watcher.close()
  await told
  assert.deepEqual(
    [...seen].filter(name => name.startsWith('pcc-')),
    [],
  )
  assert.equal(world.git('status', '--porcelain'), '')
})

test('a path into git’s own folder, which only a forged tree holds, is not put back', () => {
  for (const path of [
    '.git/config',
    'a/.GIT/hooks/x',
    '.g\u200cit/config',
    'GIT~1/config',
    '../x',
    'a/../../x',
    'a//x',
  ])
    assert.equal(isForbiddenPath(path), true, path)
  for (const path of ['.gitignore', '.github/x', 'a/git', 'a..b/c', 'x.git/config'])
    assert.equal(isForbiddenPath(path), false, path)
})

test('the worktree of a task is no checkout of the target, whatever its agent writes into its HEAD', async t => {
  const world = await openMergeFixture(t)
  const { top } = await world.work('t-000001', { 'a.txt': 'agent\n' })
  const other = await world.work('t-000002', { 'new.txt': 'new\n' })
  world.git('switch', '-q', '-c', 'elsewhere')
  const admin = world.gitIn(top, 'rev-parse', '--absolute-git-dir').trim()
  writeFileSync(join(admin, 'HEAD'), 'ref: refs/heads/main\n')
  assert.deepEqual(await findCheckouts(join(world.project, '.git'), 'main', [top]), [])
  await world.enqueue(other)
  await world.advance()
  assert.equal((await world.row('t-000002')).state, 'merged')
  assert.ok(!existsSync(join(top, 'new.txt')))
})
