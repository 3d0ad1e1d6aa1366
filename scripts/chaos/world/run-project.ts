import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bareEnv } from '../../../test/support/world.ts'

/** What git says about the project of a run when all is over. */
export interface RunFacts {
  /** Commits of the branch that brought the file of a task, by its token. */
  commits: Record<string, number>
  /** What is changed or unknown in the checkout; nothing where it is as its branch says. */
  loose: string
  /** What `git fsck` complains about. */
  broken: string
  /** Branches and worktrees of tasks that are left. */
  left: string
}

/** A project with one commit, whose branch is checked out. */
export function makeRunProject(path: string): void {
  mkdirSync(path, { recursive: true })
  writeFileSync(join(path, 'README.md'), '# run\n')
  git(path, 'init', '-q', '-b', 'main')
  git(path, 'add', '-A')
  git(path, '-c', 'user.name=Chaos', '-c', 'user.email=chaos@example.invalid', 'commit', '-q', '-m', 'first')
}

export function runFacts(path: string, tokens: readonly string[]): RunFacts {
  const commitsOf = (token: string) => git(path, 'log', '--format=%H', 'main', '--', `src/${token}-c1.ts`)
  const worktrees = git(path, 'worktree', 'list', '--porcelain').split('\n\n').filter(Boolean).slice(1)
  return {
    commits: Object.fromEntries(tokens.map(token => [token, commitsOf(token).split('\n').filter(Boolean).length])),
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
