import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Worktree } from '../../domain/workspace/place.ts'
import { git } from '../git/git.ts'
import { outlastOthers } from '../git/outlast-others.ts'
import { keepCommit } from './gone/keep-commit.ts'
import type { WorktreeParts } from './parts.ts'
import { meaningOf, refusal } from './refusal.ts'
import type { Repository } from './repository.ts'

/** A large repository on a slow disk takes its time. */
const PATIENCE_MS = 10 * 60_000

/** Has git make the worktree, and gives what a person should know of it. What failed leaves nothing behind. */
export async function addWorktree(row: Worktree, repository: Repository, parts: WorktreeParts): Promise<string | null> {
  const { branch } = repository
  // Somebody's branch of the same name, or that of an earlier attempt: what it holds is kept, then it begins anew.
  if (branch && branch.tip !== row.base) await keepCommit(row, branch.tip, repository.at)
  const add = ['worktree', 'add', '-q', '--no-track', branch ? '-B' : '-b', row.branch, row.top, row.base]
  const tryOnce = async () => {
    const first = await git(repository.at, add, { timeoutMs: PATIENCE_MS })
    // It was there before and somebody deleted the directory: git still has it in its list.
    const isListed = !first.ok && first.stderr.includes('already registered')
    return isListed ? git(repository.at, add.with(2, '-f'), { timeoutMs: PATIENCE_MS }) : first
  }
  const added = await outlastOthers(tryOnce, { undo: () => undo(row, branch !== undefined) })
  if (added.ok) return existsSync(join(row.top, '.gitmodules')) ? SUBMODULES : null
  await undo(row, branch !== undefined)
  const meaning = meaningOf(added.stderr)
  await parts.store.worktrees.update(row, { state: 'removed', reason: meaning.why, ended_at: parts.clock.now() })
  throw refusal(row, meaning)
}

/** Takes back what a call that failed or was cut off has left. Nobody has worked in it. */
export async function undo(row: Worktree, keepBranch: boolean): Promise<void> {
  // Twice by force: git locks a worktree while it is being made.
  await git(row.repository, ['worktree', 'remove', '--force', '--force', row.top], { timeoutMs: PATIENCE_MS })
  await rm(row.top, { recursive: true, force: true })
  if (keepBranch) return
  const tip = await git(row.repository, ['rev-parse', '-q', '--verify', `refs/heads/${row.branch}^{commit}`])
  if (tip.stdout.trim() === row.base) await git(row.repository, ['branch', '-q', '-D', row.branch])
}

const SUBMODULES = 'its submodules are empty (docs/worktrees.md)'
