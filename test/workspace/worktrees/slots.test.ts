import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import {
  appendFileSync,
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import type { Worktree } from '../../../src/domain/worktree.ts'
import { discardReserved, makeWorktree, reserveWorktree } from '../../../src/workspace/worktrees/make-worktree.ts'
import { keepSlot, removeIdleSlots } from '../../../src/workspace/worktrees/slots.ts'
import { openWorktrees, recoverWorktrees } from '../../../src/workspace/worktrees/worktrees.ts'
import { gitProject } from '../../support/world.ts'
import { insertRun, openWorktreeFixture, type WorktreeFixture, write } from './worktree-fixture.ts'

// A slot: a directory that stays from task to task of a run while its branch changes.

const FILES = {
  '.gitignore': '*.log\nbuild/\n.env\nnode_modules/\n',
  'src/a.txt': 'a\n',
  'src/deep/b.txt': 'b\n',
  'src/deep/c.txt': 'c\n',
  'bin/run': '#!/bin/sh\n',
  'docs/page.md': 'page\n',
}

interface SlotWorld extends WorktreeFixture {
  /** Gives the next task a worktree in a slot. */
  next(): Promise<Worktree>
  /** A new worktree as it was made before there were slots. */
  fresh(): Promise<Worktree>
  /** What happens to the slot of a task that is done. */
  keep(worktree: Worktree): Promise<boolean>
  end(): Promise<void>
}

async function openSlotWorld(t: TestContext, files: Record<string, string> = FILES): Promise<SlotWorld> {
  const project = gitProject(t, files)
  const fixture = await openWorktreeFixture(t, { project })
  symlinkSync('src/a.txt', join(project, 'link'))
  chmodSync(join(project, 'bin/run'), 0o755)
  fixture.git('add', '-A')
  fixture.git('commit', '-qm', 'more')
  const { store } = fixture.deps
  const run = await insertRun(store, project)
  let count = 0
  const make = (slot: boolean) => {
    count += 1
    return fixture.make({ task: `t-${String(count).padStart(6, '0')}`, slot })
  }
  return {
    ...fixture,
    next: () => make(true),
    fresh: () => make(false),
    keep: worktree => store.transaction(tx => keepSlot(worktree, { store }, tx)),
    end: () => store.runs.update(run, { state: 'ended' }),
  }
}

/** Commits a file in a worktree and merges it, as a task that goes well does. */
function work({ gitIn, git }: SlotWorld, { top, branch, task }: Worktree): void {
  write(top, { [`done/${task}.txt`]: `${task}\n`, 'src/a.txt': `a after ${task}\n` })
  gitIn(top, 'add', '-A')
  gitIn(top, 'commit', '-qm', `work of ${task}`)
  git('merge', '-q', '--ff-only', branch)
}

/** Everything in a worktree, and what git says about it. The names of task and branch are left out. */
function describe(world: SlotWorld, { top, task, branch }: Worktree): object {
  const files = readdirSync(top, { recursive: true, withFileTypes: true }).map(entry => {
    const path = join(entry.parentPath, entry.name)
    const stats = lstatSync(path)
    const name = path.slice(top.length + 1)
    if (name === '.git') return [name]
    const content = stats.isSymbolicLink() ? readlinkSync(path) : stats.isFile() ? readFileSync(path, 'utf8') : ''
    return [name, stats.mode.toString(8), content.replaceAll(task, 'TASK')]
  })
  const ask = (...args: string[]) => world.gitIn(top, ...args).replaceAll(branch, 'BRANCH')
  const admin = ask('rev-parse', '--git-dir').trim()
  return {
    files: files.toSorted(([a = ''], [b = '']) => (a < b ? -1 : 1)),
    head: ask('symbolic-ref', 'HEAD'),
    commit: ask('rev-parse', 'HEAD'),
    tree: ask('write-tree'),
    status: ask('status', '--porcelain', '--ignored', '--untracked-files=all'),
    index: ask('ls-files', '-v', '-s'),
    reflog: [...new Set(ask('reflog', '--format=%H', 'HEAD').split('\n'))],
    admin: readdirSync(admin)
      .filter(name => name !== 'ORIG_HEAD')
      .toSorted(),
    refs: existsSync(join(admin, 'refs')) && readdirSync(join(admin, 'refs'), { recursive: true }),
  }
}

type Leave = (at: { top: string; admin: string; git(...args: string[]): string }) => void

/** What a task may leave that a change of branch puts right. */
const LEFTOVERS: Record<string, Leave> = {
  'a changed file': ({ top }) => appendFileSync(join(top, 'src/deep/b.txt'), 'more\n'),
  'a changed file whose time was set back': ({ top }) => {
    const file = join(top, 'src/deep/b.txt')
    const { atime, mtime } = statSync(file)
    writeFileSync(file, 'B\n')
    utimesSync(file, atime, mtime)
  },
  'a staged change': ({ top, git }) => {
    appendFileSync(join(top, 'docs/page.md'), 'staged\n')
    git('add', 'docs')
  },
  'a deleted file': ({ top }) => rmSync(join(top, 'src/deep/c.txt'), { force: true }),
  'an untracked file': ({ top }) => write(top, { 'src/new.txt': 'new\n', 'other/deep/new.txt': 'new\n' }),
  'a file that it means to add': ({ top, git }) => {
    write(top, { 'meant.txt': 'm\n' })
    git('add', '-N', 'meant.txt')
  },
  'ignored files': ({ top }) => write(top, { '.env': 'SECRET\n', 'build/out.js': 'x\n', 'src/x.log': 'x\n' }),
  'an empty folder': ({ top }) => mkdirSync(join(top, 'src/empty/deeper'), { recursive: true }),
  'a renamed file': ({ top, git }) =>
    existsSync(join(top, 'docs/page.md')) && git('mv', '-f', 'docs/page.md', 'docs/moved.md'),
  'changed modes': ({ top }) => {
    chmodSync(join(top, 'bin/run'), 0o644)
    chmodSync(join(top, '.gitignore'), 0o755)
  },
  'a folder in place of a file': ({ top }) => {
    rmSync(join(top, '.gitignore'), { recursive: true, force: true })
    write(top, { '.gitignore/x': 'x\n' })
  },
  'a link in place of a folder': ({ top }) => {
    renameSync(join(top, 'docs'), join(top, '..', `docs-${process.hrtime.bigint()}`))
    symlinkSync('src', join(top, 'docs'))
  },
  'a file in place of a link': ({ top }) => {
    rmSync(join(top, 'link'), { force: true })
    write(top, { link: 'a\n' })
  },
  'a link that leads out': ({ top }) => symlinkSync('/etc', join(top, 'etc')),
  'a second name of a file': ({ top }) =>
    existsSync(join(top, 'src/a.txt')) && linkSync(join(top, 'src/a.txt'), join(top, 'src/second.txt')),
  'a change hidden by assume-unchanged': ({ top, git }) => {
    git('update-index', '--assume-unchanged', 'bin/run')
    writeFileSync(join(top, 'bin/run'), 'hidden\n')
  },
  'a change hidden by skip-worktree': ({ top, git }) => {
    git('update-index', '--skip-worktree', 'src/deep/c.txt')
    write(top, { 'src/deep/c.txt': 'hidden\n' })
  },
  'a change that a forged index hides': ({ top, admin, git }) => forgeIndex(top, admin, git),
  'a commit that is not merged': ({ top, git }) => {
    write(top, { 'src/unmerged.txt': 'u\n' })
    git('add', 'src/unmerged.txt')
    git('commit', '-qm', 'not merged')
  },
  'a commit on no branch': ({ git }) => {
    git('checkout', '-q', '--detach')
    git('commit', '-q', '--allow-empty', '-m', 'on no branch')
  },
  'a stash': ({ top, git }) => {
    appendFileSync(join(top, '.gitignore'), '*.stashed\n')
    git('stash', '-q')
  },
  'notes of git': ({ admin }) =>
    write(admin, { FETCH_HEAD: 'x\n', COMMIT_EDITMSG: 'x\n', 'logs/refs/x': 'x\n', REBASE_HEAD: 'x\n' }),
}

/** Changes a file, and writes an index by which it is unchanged: git believes the times and the size that stand there. */
function forgeIndex(top: string, admin: string, git: (...args: string[]) => string): void {
  const before = git('rev-parse', ':docs/page.md').trim()
  writeFileSync(join(top, 'docs/page.md'), 'FORGE')
  git('add', 'docs/page.md')
  const after = git('rev-parse', ':docs/page.md').trim()
  const index = readFileSync(join(admin, 'index')).subarray(0, -20)
  const at = index.indexOf(Buffer.from(after, 'hex'))
  Buffer.from(before, 'hex').copy(index, at)
  writeFileSync(join(admin, 'index'), Buffer.concat([index, createHash('sha1').update(index).digest()]))
}

test('a slot is exactly like a new worktree, whatever the last task left in it, and is used again', async t => {
  const world = await openSlotWorld(t)
  let current = await world.next()
  assert.equal(basename(current.top), 'slot-1')
  const { ino } = statSync(current.top)
  const names = fc.shuffledSubarray(Object.keys(LEFTOVERS), { minLength: 1, maxLength: 5 })
  await fc.assert(
    fc.asyncProperty(names, async left => {
      const { top } = current
      work(world, current)
      const git = (...args: string[]) => world.gitIn(top, ...args)
      const admin = git('rev-parse', '--git-dir').trim()
      // One may take away what the next one needs.
      for (const name of left) attempt(() => LEFTOVERS[name]?.({ top, admin, git }))
      assert.ok(await world.keep(current))
      const last = current
      current = await world.next()
      const fresh = await world.fresh()
      assert.deepEqual(describe(world, current), describe(world, fresh))
      const kept = (await world.deps.store.worktrees.get(last))?.reason
      assert.deepEqual([current.top, statSync(current.top).ino], [top, ino], `${kept}`)
      assert.equal(world.git('branch', '--list', last.branch), '')
      assert.equal((await world.remove(fresh)).kind, 'removed')
    }),
    { numRuns: 8, endOnFailure: true },
  )
})

function attempt(leave: () => unknown): void {
  try {
    leave()
  } catch {
    // what it changes is gone already
  }
}

/** What a task may leave after which nobody can be sure: the slot is made anew, at the same path. */
const DOUBTS: Record<string, Leave> = {
  'an unfinished merge': ({ top, git }) => conflict(top, git, 'merge'),
  'an unfinished rebase': ({ top, git }) => conflict(top, git, 'rebase'),
  'a bisect': ({ git }) => git('bisect', 'start', 'HEAD', 'HEAD~1'),
  'a ref of its own': ({ git }) => git('update-ref', 'refs/worktree/mine', 'HEAD'),
  'a lock on the index': ({ admin }) => write(admin, { 'index.lock': '' }),
  'files for another checkout': ({ admin }) => write(admin, { 'info/sparse-checkout': 'docs\n' }),
  'settings of its own': ({ admin }) => write(admin, { 'config.worktree': '[core]\n\thooksPath = evil\n' }),
  'an index in two files': ({ git }) => git('update-index', '--split-index'),
  'the lock of a worktree': ({ top, git }) => git('worktree', 'lock', top),
  'a folder that cannot be written': ({ top }) => {
    write(top, { 'build/x.js': 'x\n' })
    chmodSync(join(top, 'build'), 0o555)
  },
}

function conflict(top: string, git: (...args: string[]) => string, how: 'merge' | 'rebase'): void {
  write(top, { 'src/a.txt': 'one\n' })
  git('commit', '-qam', 'one')
  git('branch', '-f', `other-${how}`, 'HEAD~1')
  git('checkout', '-q', `other-${how}`)
  write(top, { 'src/a.txt': 'two\n' })
  git('commit', '-qam', 'two')
  attempt(() => git(how, '-q', 'HEAD@{2}'))
}

for (const [name, leave] of Object.entries(DOUBTS)) {
  test(`after ${name}, the next task still finds what a new worktree has`, async t => {
    const world = await openSlotWorld(t)
    const first = await world.next()
    const { top } = first
    work(world, first)
    const git = (...args: string[]) => world.gitIn(top, ...args)
    leave({ top, admin: git('rev-parse', '--git-dir').trim(), git })
    assert.ok(await world.keep(first))
    const second = await world.next()
    const fresh = await world.fresh()
    assert.deepEqual(describe(world, second), describe(world, fresh))
    assert.equal(second.top, top)
  })
}

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
  assert.deepEqual(describe(world, made), describe(world, await world.fresh()))
})

test('a slot that was made ready is made anew if somebody wrote into it, and what they wrote is kept', async t => {
  const world = await openSlotWorld(t)
  const { wanted, reserved } = await reserveNext(world)
  write(reserved.top, { 'src/mine.txt': 'mine\n' })
  const made = await makeWorktree(wanted, world.deps, reserved)
  assert.ok('top' in made)
  assert.deepEqual(describe(world, made), describe(world, await world.fresh()))
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
