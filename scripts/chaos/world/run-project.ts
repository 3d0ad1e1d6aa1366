import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bareEnv } from '../../../test/support/world.ts'
import type { RunWork } from '../plan/run-plan.ts'

/** What git says about the project of a run at the end. */
export interface RunFacts {
  /** How many commits of the branch added the file of a task, by its token. */
  commits: Record<string, number>
  /** For tasks whose work is sent back: how many commits added the missing file, by token. */
  mends: Record<string, number>
  /** Changed or untracked files in the checkout; empty if it matches its branch. */
  loose: string
  /** The complaints of `git fsck`. */
  broken: string
  /** Remaining branches and worktrees of tasks. */
  left: string
}

/** Makes a project with one commit and a checked-out branch that follows a remote, if it has one. */
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
