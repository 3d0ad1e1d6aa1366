import { existsSync } from 'node:fs'
import { realpath } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { crashPoint } from '../../base/crash-point.ts'
import { findProcessesIn, type WorkingProcess } from '../../base/process/sweep.ts'
import type { Worktree, WorktreeForecast, WorktreeRow } from '../../domain/worktree.ts'
import type { Tx } from '../../store/store.ts'
import { type GitResult, git } from '../git/git.ts'
import { deleteBranch } from '../git/refs.ts'
import { archiveWorktree, readUnmergedWork, type UnmergedWork } from './archive.ts'
import { archiveCommit, undoAddWorktree } from './repository.ts'
import { forgetIndex } from './switch-slot.ts'
import { gitErrorLine, repairGitLink, type WorktreeDeps } from './worktree.ts'
import { forgetNote, readGateMadeFiles } from './worktree-note.ts'

/**
 * Removes a worktree and its branch where it is certain that nothing is lost: everything is merged, there are no changes, untracked
 * files or stashes, and no process works in it. Otherwise it is archived first; a worktree that cannot be archived stays.
 */
export async function removeWorktree(
  worktree: Worktree,
  deps: Pick<WorktreeDeps, 'store' | 'clock' | 'log' | 'endWaiting'>,
  options: RemoveOptions = {},
): Promise<WorktreeRemoval> {
  const row = await deps.store.worktrees.get(worktree)
  if (!row || row.state === 'removed' || row.state === 'archived') return { kind: 'removed' }
  // Whoever takes an idle slot first has it.
  if (row.state === 'leaving' || (row.state === 'idle' && !(await claimIdle(row, deps))))
    return { kind: 'kept', why: 'it is being handed over to another task' }
  const save = (patch: Partial<WorktreeRow>) => deps.store.worktrees.update(row, patch)
  if (row.state !== 'making') await deps.endWaiting?.(row.top)
  const landed = options.landed ?? (row.state === 'idle' ? await findLanded(row, deps) : undefined)
  const remove = () =>
    row.state === 'making'
      ? undoUnfinished(row)
      : removeWorktreeDirectory(row, { ...options, landed }, archive => save({ archive }))
  const removal = await remove().catch(async thrown => {
    if (row.state === 'idle') await save({ state: 'idle' })
    throw thrown
  })
  if (removal.kind === 'kept') await save({ reason: removal.why, state: row.state })
  else await deps.store.transaction(tx => recordRemoval(row, removal, deps, tx))
  deps.log.info({ task: row.task, attempt: row.attempt, ...removal }, 'worktree removal')
  return removal
}

/** Takes an idle slot for the caller alone: of two who want it, to use or to remove it, one gets it. */
export async function claimIdle(row: WorktreeRow, { store }: Pick<WorktreeDeps, 'store'>): Promise<boolean> {
  return store.transaction(async tx => {
    if ((await store.worktrees.get(row, tx))?.state !== 'idle') return false
    await store.worktrees.update(row, { state: 'leaving' }, tx)
    return true
  })
}

/** The commit of a merged task that reached its target, perhaps in another form. */
export async function findLanded(
  { task, attempt }: Pick<WorktreeRow, 'task' | 'attempt'>,
  { store }: Pick<WorktreeDeps, 'store'>,
): Promise<string | undefined> {
  const merged = await store.merges.list({ task, states: ['merged'] })
  return merged.findLast(merge => merge.attempt === attempt)?.head ?? undefined
}

/** Writes that a worktree is gone, together with its event. One that was never finished was never reported as made either. */
export async function recordRemoval(
  row: WorktreeRow,
  removal: Exclude<WorktreeRemoval, { kind: 'kept' }>,
  { store, clock }: Pick<WorktreeDeps, 'store' | 'clock'>,
  tx: Tx,
): Promise<void> {
  const { task, attempt, branch } = row
  const kept = removal.kind === 'archived' ? { archive: removal.ref, reason: removal.why } : {}
  const body = { task, attempt, branch, ...kept }
  await store.worktrees.update(row, { ...rowAfterRemoval(removal), ended_at: clock.now() }, tx)
  if (row.state !== 'making') await tx.append([{ actor: 'daemon', subject: task, kind: 'worktree.removed', body }])
}

function rowAfterRemoval(removal: Exclude<WorktreeRemoval, { kind: 'kept' }>): Partial<WorktreeRow> {
  if (removal.kind === 'removed') return { state: 'removed', reason: null }
  return { state: 'archived', reason: removal.why, archive: removal.ref }
}

/** Undoes a worktree that was never finished: no agent has worked in it. */
async function undoUnfinished(row: WorktreeRow): Promise<WorktreeRemoval> {
  await undoAddWorktree(row, false)
  await forgetNote(row.top)
  await forgetIndex(row.top)
  return row.archive ? { kind: 'archived', ref: row.archive, why: 'it could not be restored' } : { kind: 'removed' }
}

export type WorktreeRemoval =
  | { kind: 'removed' }
  /** There was something to keep, which is now in that ref. */
  | { kind: 'archived'; ref: string; why: string }
  /** Nothing was touched. */
  | { kind: 'kept'; why: string }

export interface RemoveOptions {
  /** A commit of the branch that reached the target in another form (squashed): it counts as merged. */
  landed?: string | undefined
  /** Archives the worktree even where there is nothing to keep. */
  archive?: boolean | undefined
  /** Archives nothing: a worktree with something to keep stays. */
  onlyClean?: boolean | undefined
  /** Whether a process is an agent that waits for its next task: it does nothing, and may stay. */
  isWaiting?: ((pid: number) => boolean) | undefined
}

/** What `removeWorktree` does to a worktree, without its row. `onArchived` is called as soon as its work has a ref. */
export async function removeWorktreeDirectory(
  row: WorktreeRow,
  options: RemoveOptions,
  onArchived: (ref: string) => Promise<void> = async () => undefined,
): Promise<WorktreeRemoval> {
  if (!existsSync(row.repository)) return { kind: 'kept', why: `its repository ${row.repository} is gone` }
  if (!existsSync(row.top)) return removeDeleted(row, options)
  const vacated = await vacateWorktree(row, options, onArchived)
  if (vacated.kind === 'kept') return vacated
  crashPoint('place.before-remove')
  const removed = await removeTree(row, vacated.isClean)
  if (!removed.ok) return { kind: 'kept', why: gitErrorLine(removed.stderr) }
  await deleteBranch(row.repository, row.branch)
  await forgetNote(row.top)
  await forgetIndex(row.top)
  crashPoint('place.after-remove')
  if (vacated.kind === 'empty') return { kind: 'removed' }
  const { ref, why } = vacated
  return { kind: 'archived', ref, why }
}

/** Nothing is left in a worktree that could be lost. `isClean`: git sees nothing in it beside what is committed. */
export type VacatedWorktree =
  | { kind: 'empty'; isClean: boolean; head: string }
  | { kind: 'archived'; isClean: boolean; head: string; ref: string; why: string }
  | { kind: 'kept'; why: string }

/** Makes sure that nothing would be lost with a worktree: what is not merged is archived. The worktree is not changed. */
export async function vacateWorktree(
  row: WorktreeRow,
  options: RemoveOptions,
  onArchived: (ref: string) => Promise<void> = async () => undefined,
): Promise<VacatedWorktree> {
  if (!(await repairGitLink(row)))
    return { kind: 'kept', why: 'its file .git does not belong to the repository any more' }
  const left = await readUnmergedWork(row, options.landed)
  const hindrance = await whyUntouchable(row, left, options)
  if (hindrance !== undefined || !left) return { kind: 'kept', why: hindrance ?? 'git cannot tell what is in it' }
  const why = (await whyKeep(row, left)) ?? (options.archive ? 'you asked for it' : undefined)
  if (why !== undefined && options.onlyClean) return { kind: 'kept', why }
  crashPoint('place.before-archive')
  const ref = why === undefined ? undefined : await archiveWorktree(row, left)
  if (ref !== undefined) await onArchived(ref)
  const { head } = left
  if (ref !== undefined) return { kind: 'archived', isClean: false, head, ref, why: why ?? '' }
  return { kind: 'empty', isClean: left.paths.length === 0, head }
}

/** Where nothing is left to keep, git itself checks once more before it deletes: somebody may have written there since. */
async function removeTree({ repository, top }: WorktreeRow, isClean: boolean): Promise<GitResult> {
  const options = { timeoutMs: 10 * 60_000 }
  const removed = isClean ? await git(repository, ['worktree', 'remove', top], options) : undefined
  if (removed && (removed.ok || removed.stderr.includes('modified or untracked'))) return removed
  // A worktree with submodules is only removed by force.
  return git(repository, ['worktree', 'remove', '--force', top], options)
}

/** Why a worktree can be neither archived nor removed now. */
async function whyUntouchable(
  row: WorktreeRow,
  left: UnmergedWork | undefined,
  { isWaiting = () => false }: RemoveOptions = {},
): Promise<string | undefined> {
  if (left && left.repositories.length > 0) {
    return `it holds repositories of their own, which cannot be archived: ${left.repositories.join(', ')}`
  }
  const working = await findProcessesIn(row.top)
  if (!working) return 'nobody can tell whether a process works in it (lsof is missing)'
  const first = working.find(({ pid }) => !isWaiting(pid))
  return first && `process ${first.pid} (${nameOfProgram(first)}) works in it; end it, or wait until it has ended`
}

function nameOfProgram({ command }: WorkingProcess): string {
  return basename(command.split(' ', 1)[0] ?? '')
}

/** Why a worktree has to be archived. Files that only a gate's command has left there do not count. */
async function whyKeep(row: WorktreeRow, left: UnmergedWork): Promise<string | undefined> {
  const { paths, hidden, stashes, isMerged } = left
  const made = paths.length > 0 ? await readGateMadeFiles(row.top) : new Set<string>()
  const files = paths.filter(path => !made.has(path)).length + hidden.length
  if (files > 0) return files === 1 ? '1 file was not committed' : `${files} files were not committed`
  if (stashes.length > 0) return 'something is stashed'
  return isMerged ? undefined : 'its commits are not merged'
}

/** Removes a worktree whose directory somebody has deleted: its commits are still there. */
async function removeDeleted(row: WorktreeRow, { landed, archive }: RemoveOptions): Promise<WorktreeRemoval> {
  const branch = `refs/heads/${row.branch}`
  const tip = await git(row.repository, ['rev-parse', '-q', '--verify', `${branch}^{commit}`])
  const merged = [`refs/heads/${row.target}`, ...(landed ? [landed] : [])]
  const keepMissing = async (commit: string | undefined, ...others: string[]) => {
    if (commit === undefined) return undefined
    const missing = await git(row.repository, ['rev-list', '-1', commit, '--not', ...merged, ...others, '--'])
    const isMerged = missing.ok && missing.stdout.trim() === ''
    return isMerged ? undefined : archiveCommit(row, commit, row.repository)
  }
  // The checked-out commit may be on no branch, and git forgets it with the worktree.
  const held = [...(tip.ok ? [branch] : []), ...(row.archive ? [row.archive] : [])]
  const detached = await keepMissing(await readHeadOfDeleted(row), ...held)
  const removed = await git(row.repository, ['worktree', 'remove', '--force', row.top])
  const why = 'its directory was deleted by hand; what was committed is kept'
  if (!tip.ok && detached !== undefined) return { kind: 'archived', ref: detached, why }
  if (!tip.ok)
    return row.archive ? { kind: 'archived', ref: row.archive, why: 'it was archived before' } : { kind: 'removed' }
  if (!removed.ok && !removed.stderr.includes('is not a working tree'))
    return { kind: 'kept', why: gitErrorLine(removed.stderr) }
  const commit = tip.stdout.trim()
  const asked = archive && detached === undefined ? await archiveCommit(row, commit, row.repository) : undefined
  const ref = asked ?? (await keepMissing(commit)) ?? detached
  await deleteBranch(row.repository, row.branch)
  return ref === undefined ? { kind: 'removed' } : { kind: 'archived', ref, why }
}

/** The commit that was checked out in a worktree whose directory is gone, as long as git lists it. */
async function readHeadOfDeleted({ repository, top }: WorktreeRow): Promise<string | undefined> {
  const folder = await realpath(dirname(top)).catch(() => dirname(top))
  const { stdout } = await git(repository, ['worktree', 'list', '--porcelain', '-z'])
  const lines = stdout.split('\0\0').map(block => block.split('\0'))
  const own = lines.find(([name]) => name === `worktree ${join(folder, basename(top))}`)
  const head = own?.find(line => line.startsWith('HEAD '))?.slice('HEAD '.length)
  // Zeros: the branch that was checked out is gone.
  return head === undefined || /^0+$/.test(head) ? undefined : head
}

/** What a removal would do now, and why; nothing is changed. */
export async function forecastRemoval(row: WorktreeRow): Promise<WorktreeForecast> {
  const dirty = await git(row.project, ['status', '--porcelain', '--untracked-files=no'], { timeoutMs: 20_000 })
  return { ...(await forecastKind(row)), project_is_dirty: dirty.stdout !== '' }
}

async function forecastKind(row: WorktreeRow): Promise<Pick<WorktreeForecast, 'kind' | 'why'>> {
  if (!existsSync(row.repository)) return { kind: 'kept', why: `its repository ${row.repository} is gone` }
  if (!existsSync(row.top)) return { kind: 'archived', why: 'its directory was deleted by hand' }
  const left = await readUnmergedWork(row)
  const hindrance = await whyUntouchable(row, left)
  if (hindrance !== undefined || !left) return { kind: 'kept', why: hindrance ?? 'git cannot tell what is in it' }
  const why = (await whyKeep(row, left)) ?? null
  return { kind: why === null ? 'removed' : 'archived', why }
}
