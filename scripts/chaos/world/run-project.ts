import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bareEnv } from '../../../test/support/world.ts'
import type { RunWork } from '../plan/run-plan.ts'

/** What git says about the project of a run when all is over. */
export interface RunFacts {
  /** Commits of the branch that brought the file of a task, by its token. */
  commits: Record<string, number>
  /** Commits that brought what its work was sent back for, by its token; for tasks whose work is to come back. */
  mends: Record<string, number>
  /** What is changed or unknown in the checkout; nothing where it is as its branch says. */
  loose: string
  /** What `git fsck` complains about. */
  broken: string
  /** Branches and worktrees of tasks that are left. */
  left: string
}

/** A project with one commit, whose branch is checked out, and which follows a remote where it has one. */
export function makeRunProject(path: string, { remote }: { remote?: string | undefined } = {}): void {
  mkdirSync(path, { recursive: true })
  writeFileSync(join(path, 'README.md'), '# run\n')
  git(path, 'init', '-q', '-b', 'main')
  git(path, 'add', '-A')
  git(path, '-c', 'user.name=Chaos', '-c', 'user.email=chaos@example.invalid', 'commit', '-q', '-m', 'first')
  if (remote === undefined) return
  git(path, 'clone', '-q', '--bare', path, remote)
  git(path, 'remote', 'add', 'origin', remote)
  git(path, 'fetch', '-q', 'origin')
  git(path, 'branch', '-q', '--set-upstream-to=origin/main', 'main')
}

export function runFacts(path: string, tasks: RunWork['tasks']): RunFacts {
  const commitsOf = (name: string) =>
    git(path, 'log', '--format=%H', 'main', '--', `src/${name}.ts`).split('\n').filter(Boolean).length
  const worktrees = git(path, 'worktree', 'list', '--porcelain').split('\n\n').filter(Boolean).slice(1)
  return {
    commits: Object.fromEntries(tasks.map(({ token }) => [token, commitsOf(`${token}-c1`)])),
    mends: Object.fromEntries(tasks.flatMap(({ token, mends }) => (mends ? [[token, commitsOf(`${token}-c2`)]] : []))),
    loose: git(path, 'status', '--porcelain'),
    broken: git(path, 'fsck', '--no-dangling', '--no-progress'),
    left: [git(path, 'branch', '--list', 'pcc/*').trim(), ...worktrees].filter(Boolean).join('; '),
  }
}

function git(path: string, ...args: string[]): string {
  try {
    return execFileSync('git', args, { cwd: path, env: bareEnv(path), encoding: 'utf8', stdio: 'pipe' })
  } catch (error) {
    return String(error)
  }
}
