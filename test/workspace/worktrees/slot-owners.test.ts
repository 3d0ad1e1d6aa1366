import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { discardReserved, makeWorktree, reserveWorktree } from '../../../src/workspace/worktrees/make-worktree.ts'
import { removeIdleSlots } from '../../../src/workspace/worktrees/slots.ts'
import { openWorktrees, recoverWorktrees } from '../../../src/workspace/worktrees/worktrees.ts'
import { describeWorktree, openSlotWorld, type SlotWorld, work } from './slot-fixture.ts'
import { write } from './worktree-fixture.ts'

// Whose a slot is, from the end of one task to the beginning of the next.

test('what a task left in its slot is archived before the slot is used again, and comes back elsewhere', async t => {
  const world = await openSlotWorld(t)
  const first = await world.next()
  work(world, first)
  write(first.top, { 'src/new.txt': 'left\n' })
  await world.keep(first)
  const second = await world.next()
  const row = await world.deps.store.worktrees.get(first)
  assert.deepEqual([row?.state, row?.archive], ['archived', `refs/pcc/archive/${first.task}/1`])
  assert.equal(world.git('show', `${row?.archive}:src/new.txt`), 'left\n')
  const restored = await openWorktrees(world.deps).restore(first.task)
  assert.equal(readFileSync(join(restored.top, 'src/new.txt'), 'utf8'), 'left\n')
  assert.deepEqual([second.top, basename(restored.top)], [first.top, first.task])
  assert.equal(world.gitIn(second.top, 'status', '--porcelain'), '')
})

test('a slot that holds another repository is not used again while that is so', async t => {
  const world = await openSlotWorld(t)
  const first = await world.next()
  work(world, first)
  world.gitIn(first.top, 'init', '-q', 'inner')
  await world.keep(first)
  const second = await world.next()
  assert.equal(basename(second.top), 'slot-2')
  const row = await world.deps.store.worktrees.get(first)
  assert.deepEqual([row?.state, existsSync(join(first.top, 'inner/.git'))], ['idle', true])
  assert.match(row?.reason ?? '', /repositories of their own/)
  rmSync(join(first.top, 'inner'), { recursive: true })
  assert.equal((await world.next()).top, first.top)
})

test('a slot in which a process works is not used again meanwhile, unless it is an agent that waits for the next task', async t => {
  const world = await openSlotWorld(t)
  const first = await world.next()
  work(world, first)
  await world.keep(first)
  const child = spawn('sleep', ['60'], { cwd: first.top, stdio: 'ignore' })
  t.after(() => child.kill('SIGKILL'))
  await once(child, 'spawn')
  assert.equal(basename((await world.next()).top), 'slot-2')
  assert.match(
    (await world.deps.store.worktrees.get(first))?.reason ?? '',
    /^process \d+ \(sleep\) works in it; end it, or wait until it has ended$/,
  )
  Object.assign(world.deps, { isWaiting: (pid: number) => pid === child.pid })
  assert.equal((await world.next()).top, first.top)
})

test('of two tasks that begin at once, each gets a slot of its own', async t => {
  const world = await openSlotWorld(t)
  const first = await world.next()
  work(world, first)
  await world.keep(first)
  const tops = (await Promise.all([world.next(), world.next(), world.next()])).map(({ top }) => basename(top))
  assert.deepEqual(tops.toSorted(), ['slot-1', 'slot-2', 'slot-3'])
})

test('slots go with the last run of their project, and the slot of a task that is not over stays', async t => {
  const world = await openSlotWorld(t)
  const [first, second] = [await world.next(), await world.next()]
  work(world, first)
  await world.keep(first)
  assert.equal(await removeIdleSlots(world.deps), 0, 'a run is open')
  await world.end()
  assert.equal(await removeIdleSlots(world.deps), 1)
  assert.equal(await world.keep(second), false)
  const left = world.git('worktree', 'list', '--porcelain').match(/^worktree .*/gm)
  assert.deepEqual(left?.map(line => basename(line)).slice(1), ['slot-2'])
  assert.equal(world.git('branch', '--list', 'pcc/*').trim(), `+ ${second.branch}`)
})

test('a dead daemon leaves slots that the next one uses, or removes where no run is open', async t => {
  const world = await openSlotWorld(t)
  const { store } = world.deps
  const [first, second] = [await world.next(), await world.next()]
  for (const each of [first, second]) {
    write(each.top, { [`${each.task}.txt`]: 'x\n' })
    await world.keep(each)
  }
  await store.worktrees.update(first, { state: 'leaving' })
  await recoverWorktrees(world.deps)
  const states = async () => (await store.worktrees.list()).map(({ state }) => state)
  assert.deepEqual(await states(), ['idle', 'idle'])
  await world.end()
  await recoverWorktrees(world.deps)
  assert.deepEqual(await states(), ['archived', 'archived'], 'with what was left in them')
})

/** What a sandbox that was made around the slot knows it by. */
function mountsOf(world: SlotWorld, top: string): number[] {
  const admin = world.gitIn(top, 'rev-parse', '--git-dir').trim()
  const paths = [top, join(top, '.git'), ...['', 'commondir', 'gitdir'].map(name => join(admin, name))]
  return paths.map(path => statSync(path).ino)
}

/** A slot that is made ready for the next task while another one works, whose work is then merged. */
async function reserveNext(world: SlotWorld) {
  const [first, second] = [await world.next(), await world.next()]
  work(world, first)
  await world.keep(first)
  const wanted = { project: world.project, task: 't-abcdef', attempt: 1, slot: true }
  const reserved = await reserveWorktree(wanted, world.deps)
  assert.ok(reserved)
  assert.equal(reserved.top, first.top)
  assert.ok(existsSync(join(first.top, 'src/a.txt')), 'with its files')
  const mounts = mountsOf(world, first.top)
  world.gitIn(second.top, 'rebase', '-q', 'main')
  work(world, second)
  return { wanted, reserved, mounts }
}

test('a slot that is made ready ahead gets what was merged meanwhile, and stays the same for a sandbox around it', async t => {
  const world = await openSlotWorld(t)
  const { wanted, reserved, mounts } = await reserveNext(world)
  const made = await makeWorktree(wanted, world.deps, reserved)
  assert.ok('top' in made && made.top === reserved.top)
  assert.deepEqual([made.base, mountsOf(world, made.top)], [world.git('rev-parse', 'main').trim(), mounts])
  assert.deepEqual(describeWorktree(world, made), describeWorktree(world, await world.fresh()))
})

test('a slot that was made ready is made anew if somebody wrote into it, and what they wrote is kept', async t => {
  const world = await openSlotWorld(t)
  const { wanted, reserved } = await reserveNext(world)
  write(reserved.top, { 'src/mine.txt': 'mine\n' })
  const made = await makeWorktree(wanted, world.deps, reserved)
  assert.ok('top' in made)
  assert.deepEqual(describeWorktree(world, made), describeWorktree(world, await world.fresh()))
  const aside = readdirSync(join(made.top, '..')).filter(name => name.includes('.aside-'))
  assert.deepEqual(
    aside.map(name => existsSync(join(made.top, '..', name, 'src/mine.txt'))),
    [true],
  )
})

test('a slot that was made ready for a task that does not come is removed with its branch', async t => {
  const world = await openSlotWorld(t)
  const { reserved } = await reserveNext(world)
  await discardReserved(reserved, world.deps)
  assert.deepEqual([existsSync(reserved.top), world.git('branch', '--list', 'pcc/t-abcdef')], [false, ''])
  assert.deepEqual(
    readdirSync(join(reserved.top, '..')).filter(name => name.includes('aside')),
    [],
  )
})
