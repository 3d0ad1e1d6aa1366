import { chmodSync, existsSync, lstatSync, readdirSync, readFileSync, readlinkSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { Worktree } from '../../../src/domain/worktree.ts'
import { keepSlot } from '../../../src/workspace/worktrees/slots.ts'
import { gitProject } from '../../support/world.ts'
import { insertRun, openWorktreeFixture, type WorktreeFixture, write } from './worktree-fixture.ts'

const FILES = {
  '.gitignore': '*.log\nbuild/\n.env\nnode_modules/\n',
  'src/a.txt': 'a\n',
  'src/deep/b.txt': 'b\n',
  'src/deep/c.txt': 'c\n',
  'bin/run': '#!/bin/sh\n',
  'docs/page.md': 'page\n',
}

export interface SlotWorld extends WorktreeFixture {
  /** Gives the next task a worktree in a slot. */
  next(): Promise<Worktree>
  /** A new worktree as it was made before there were slots. */
  fresh(): Promise<Worktree>
  /** What happens to the slot of a task that is done. */
  keep(worktree: Worktree): Promise<boolean>
  end(): Promise<void>
}

export async function openSlotWorld(t: TestContext, files: Record<string, string> = FILES): Promise<SlotWorld> {
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
export function work({ gitIn, git }: SlotWorld, { top, branch, task }: Worktree): void {
  write(top, { [`done/${task}.txt`]: `${task}\n`, 'src/a.txt': `a after ${task}\n` })
  gitIn(top, 'add', '-A')
  gitIn(top, 'commit', '-qm', `work of ${task}`)
  git('merge', '-q', '--ff-only', branch)
}

/** Everything in a worktree, and what git says about it. The names of task and branch are left out. */
export function describeWorktree(world: SlotWorld, { top, task, branch }: Worktree): object {
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
