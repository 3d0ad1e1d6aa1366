import { existsSync } from 'node:fs'
import { realpath } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { crashPoint } from '../../base/crash-point.ts'
import { workingIn } from '../../base/process/directory/working-in.ts'
import type { Worktree } from '../../domain/workspace/place.ts'
import { type GitResult, git } from '../git/git.ts'
import { mend } from './genuine.ts'
import { archiveTree } from './gone/archive.ts'
import { keepCommit } from './gone/keep-commit.ts'
import { type Leftovers, leftoversOf } from './gone/leftovers.ts'
import { madeByGates } from './notes/made-by-gates.ts'
import { forgetNote } from './notes/place-note.ts'
import { told } from './refusal.ts'

export type Removal =
  | { kind: 'removed' }
  /** There was something to keep: it lies in that ref. */
  | { kind: 'archived'; ref: string; why: string }
  /** Nothing was touched. */
  | { kind: 'kept'; why: string }

export interface RemoveOptions {
  /** A commit of its branch that reached the target in another form (squashed): it counts as merged. */
  landed?: string | undefined
  /** Archive it even where there is nothing to keep. */
  archive?: boolean | undefined
  /** Nothing is archived: what holds something stays. */
  onlyClean?: boolean | undefined
}

/** What `removePlace` does to a worktree, without its row. `archived` is told as soon as its work has a ref. */
export async function removeRow(
  row: Worktree,
  options: RemoveOptions,
  archived: (ref: string) => Promise<void> = async () => undefined,
): Promise<Removal> {
  if (!existsSync(row.repository)) return { kind: 'kept', why: `its repository ${row.repository} is gone` }
  if (!existsSync(row.top)) return goneByHand(row, options)
  if (!(await mend(row))) return { kind: 'kept', why: 'its file .git does not belong to the repository any more' }
  const left = await leftoversOf(row, options.landed)
  const hindrance = await hindranceOf(row, left)
  if (hindrance !== undefined || !left) return { kind: 'kept', why: hindrance ?? 'git cannot tell what is in it' }
  const why = (await whyKeep(row, left)) ?? (options.archive ? 'you asked for it' : undefined)
  if (why !== undefined && options.onlyClean) return { kind: 'kept', why }
  crashPoint('place.before-archive')
  const ref = why === undefined ? undefined : await archiveTree(row, left)
  if (ref !== undefined) await archived(ref)
  crashPoint('place.before-remove')
  const removed = await removeTree(row, why === undefined && left.paths.length === 0)
  if (!removed.ok) return { kind: 'kept', why: told(removed.stderr) }
  await deleteBranch(row)
  await forgetNote(row.top)
  crashPoint('place.after-remove')
  return ref === undefined ? { kind: 'removed' } : { kind: 'archived', ref, why: why ?? '' }
}

/** Where nothing is left to keep, git itself looks once more before it deletes: somebody may have written there since. */
async function removeTree({ repository, top }: Worktree, isClean: boolean): Promise<GitResult> {
  const patience = { timeoutMs: 10 * 60_000 }
  const removed = isClean ? await git(repository, ['worktree', 'remove', top], patience) : undefined
  if (removed && (removed.ok || removed.stderr.includes('modified or untracked'))) return removed
  // One with submodules goes only by force.
  return git(repository, ['worktree', 'remove', '--force', top], patience)
}

/** Why nothing may happen to it at all. */
export async function hindranceOf(row: Worktree, left: Leftovers | undefined): Promise<string | undefined> {
  if (left && left.repositories.length > 0) {
    return `it holds repositories of their own, which cannot be archived: ${left.repositories.join(', ')}`
  }
  const working = await workingIn(row.top)
  if (!working) return 'nobody can tell whether a process works in it (lsof is missing)'
  const [first] = working
  return first && `process ${first.pid} works in it (${first.command.slice(0, 80)})`
}

/** What only a gate's command has left there is nobody's work. */
export async function whyKeep(row: Worktree, left: Leftovers): Promise<string | undefined> {
  const { paths, hidden, stashes, isMerged } = left
  const made = paths.length > 0 ? await madeByGates(row.top) : new Set<string>()
  const files = paths.filter(path => !made.has(path)).length + hidden.length
  if (files > 0) return files === 1 ? '1 file was not committed' : `${files} files were not committed`
  if (stashes.length > 0) return 'something is stashed'
  return isMerged ? undefined : 'its commits are not merged'
}

/** Somebody has deleted the directory: what was committed is still there. */
async function goneByHand(row: Worktree, { landed }: RemoveOptions): Promise<Removal> {
  const branch = `refs/heads/${row.branch}`
  const tip = await git(row.repository, ['rev-parse', '-q', '--verify', `${branch}^{commit}`])
  const known = [`refs/heads/${row.target}`, ...(landed ? [landed] : [])]
  const keepMissing = async (commit: string | undefined, ...others: string[]) => {
    if (commit === undefined) return undefined
    const missing = await git(row.repository, ['rev-list', '-1', commit, '--not', ...known, ...others, '--'])
    const isMerged = missing.ok && missing.stdout.trim() === ''
    return isMerged ? undefined : keepCommit(row, commit, row.repository)
  }
  // What was checked out may be on no branch, and git forgets it with the worktree.
  const held = [...(tip.ok ? [branch] : []), ...(row.archive ? [row.archive] : [])]
  const detached = await keepMissing(await headOfDeleted(row), ...held)
  const removed = await git(row.repository, ['worktree', 'remove', '--force', row.top])
  const why = 'its directory was deleted by hand; what was committed is kept'
  if (!tip.ok && detached !== undefined) return { kind: 'archived', ref: detached, why }
  if (!tip.ok)
    return row.archive ? { kind: 'archived', ref: row.archive, why: 'it was archived before' } : { kind: 'removed' }
  if (!removed.ok && !removed.stderr.includes('is not a working tree'))
    return { kind: 'kept', why: told(removed.stderr) }
  const ref = (await keepMissing(tip.stdout.trim())) ?? detached
  await deleteBranch(row)
  return ref === undefined ? { kind: 'removed' } : { kind: 'archived', ref, why }
}

/** The commit that was checked out in a worktree whose directory is gone, as long as git lists it. */
async function headOfDeleted({ repository, top }: Worktree): Promise<string | undefined> {
  const folder = await realpath(dirname(top)).catch(() => dirname(top))
  const { stdout } = await git(repository, ['worktree', 'list', '--porcelain', '-z'])
  const lines = stdout.split('\0\0').map(block => block.split('\0'))
  const own = lines.find(([name]) => name === `worktree ${join(folder, basename(top))}`)
  const head = own?.find(line => line.startsWith('HEAD '))?.slice('HEAD '.length)
  // Zeros: the branch that it was on is gone.
  return head === undefined || /^0+$/.test(head) ? undefined : head
}

/** Only where nobody has it checked out: git refuses the rest. */
async function deleteBranch({ repository, branch }: Worktree): Promise<void> {
  await git(repository, ['branch', '-q', '-D', branch])
}
