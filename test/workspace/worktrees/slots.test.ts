import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  appendFileSync,
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { describeWorktree, openSlotWorld, work } from './slot-fixture.ts'
import { write } from './worktree-fixture.ts'

// A slot: a directory that stays from task to task of a run while its branch changes.

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
      assert.deepEqual(describeWorktree(world, current), describeWorktree(world, fresh))
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
    assert.deepEqual(describeWorktree(world, second), describeWorktree(world, fresh))
    assert.equal(second.top, top)
  })
}

test('what git cannot list is gone for the next task of a slot: repositories below the top, and pipes', async t => {
  const world = await openSlotWorld(t)
  const first = await world.next()
  work(world, first)
  write(first.top, { 'docs/.git': 'evil\n', 'bin/.git/evil.js': 'evil\n' })
  world.gitIn(first.top, 'init', '-q', 'src/deep')
  execFileSync('mkfifo', [join(first.top, 'src/.env')])
  assert.ok(await world.keep(first))
  const second = await world.next()
  assert.equal(second.top, first.top)
  assert.deepEqual(describeWorktree(world, second), describeWorktree(world, await world.fresh()))
})
