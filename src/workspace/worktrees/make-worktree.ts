import { existsSync } from 'node:fs'
import { lstat, mkdir, readdir, realpath, rename } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { crashPoint } from '../../base/crash-point.ts'
import { messageOf } from '../../base/errors.ts'
import { isInside } from '../../base/is-inside.ts'
import { quoteForShell } from '../../base/words.ts'
import { branchOfTask, isSlot, PRESENT_WORKTREES, type Worktree, type WorktreeRow } from '../../domain/worktree.ts'
import { git } from '../git/git.ts'
import { removeWorktree, removeWorktreeDirectory } from './remove-worktree.ts'
import {
  addWorktree,
  archiveCommit,
  fillWorktree,
  lookAt,
  noteOn,
  type Repository,
  undoAddWorktree,
} from './repository.ts'
import { restoreWorktree } from './restore-worktree.ts'
import { setUpWorktree } from './set-up-worktree.ts'
import { findFreeSlot, putInFreeSlot, takeSlot } from './slots.ts'
import { hasSavedIndex, isSlotUntouched, saveIndex, switchSlot } from './switch-slot.ts'
import { checkWarmFiles, listWarmFiles, NO_WARM_FILES, type WarmFiles } from './warm-files.ts'
import {
  explainGitError,
  findAdminFolder,
  isOwnWorktree,
  markLive,
  projectFolderName,
  repairGitLink,
  stillThereError,
  type WorktreeDeps,
  worktreeError,
  worktreeOfRow,
} from './worktree.ts'

export interface NewWorktreeRequest {
  project: string
  task: string
  attempt: number
  /** The branch that the work is for; by default the one that is checked out in the project. */
  target?: string | undefined
  /** Whether it works in a slot of its run, which is used again when the task is over. */
  slot?: boolean | undefined
}

export interface NoWorktree {
  kind: 'in_place'
  why: string
}

/**
 * Gives an attempt at a task its own worktree, from the tip of its target. The row is written before git does anything and becomes
 * `live` when everything is done, so that a daemon that starts after a death knows what to look for. A second call for the same
 * attempt returns the same worktree. Throws `place_refused` if a person has to do something first. `reserved` is what
 * `reserveWorktree` made: it is filled if it is still right, or removed.
 */
export async function makeWorktree(
  wanted: NewWorktreeRequest,
  deps: WorktreeDeps,
  reserved?: WorktreeRow | undefined,
): Promise<Worktree | NoWorktree> {
  const filled = reserved && (await fillReserved(wanted, reserved, deps))
  if (filled) return finishWorktree(filled.row, filled.warm, deps)
  if (reserved) await discardReserved(reserved, deps)
  if (deps.settings.mode === 'off') return { kind: 'in_place', why: 'worktrees.mode is off' }
  const existing = await settleEarlierRows(wanted, deps)
  if (existing) return existing
  const lookup = await lookAt(wanted)
  if (lookup.kind === 'in_place') return lookup
  if (lookup.kind === 'refused') throw worktreeError(wanted, lookup)
  const { repository } = lookup
  const slot = wanted.slot && (await takeOver(wanted, repository, deps))
  if (slot) return finishWorktree(slot.row, slot.warm, deps)
  const row = await putNewRow(wanted, repository, deps)
  crashPoint('place.before-add')
  await addWorktree(row, repository, deps)
  return finishWorktree(row, NO_WARM_FILES, deps)
}

/** A worktree with the files of its commit, and what else is in it from before. */
interface FilledWorktree {
  row: WorktreeRow
  warm: WarmFiles
}

async function finishWorktree(row: WorktreeRow, warm: WarmFiles, deps: WorktreeDeps): Promise<Worktree> {
  crashPoint('place.after-add')
  if (isSlot(row)) await saveIndex(row)
  const setup = await setUpWorktree(row, deps, warm)
  return markLive(row, { reason: noteOn(row), setup }, deps)
}

/** Writes the row of a new worktree, at a path where nothing is in the way. */
async function putNewRow(wanted: NewWorktreeRequest, repository: Repository, deps: WorktreeDeps): Promise<WorktreeRow> {
  for (;;) {
    const top = wanted.slot ? await findFreeSlot(wanted.project, deps) : undefined
    const row = newRow(wanted, repository, deps, top)
    await checkWorktreeLocation(row, repository, deps)
    await clearDirectory(row, deps)
    if (await putInFreeSlot(row, deps)) return row
  }
}

/** Takes an idle slot and changes its branch. */
async function takeOver(
  wanted: NewWorktreeRequest,
  repository: Repository,
  deps: WorktreeDeps & { isReserved?: boolean },
): Promise<FilledWorktree | undefined> {
  const draft = newRow(wanted, repository, deps)
  await checkWorktreeLocation(draft, repository, deps)
  const row = await takeSlot(draft, deps)
  if (!row) return undefined
  if (repository.branch && repository.branch.tip !== row.base)
    await archiveCommit(row, repository.branch.tip, repository.at)
  return changeBranch(row, repository, deps)
}

/** Changes the branch of a slot that is the row's already. One that may then differ from a new worktree is made anew at its path. */
async function changeBranch(
  row: WorktreeRow,
  repository: Repository,
  { isReserved = false, ...deps }: WorktreeDeps & { isReserved?: boolean },
): Promise<FilledWorktree> {
  // Of a reserved slot they are checked when it is filled: until then it may still be written to.
  const warm = isReserved ? NO_WARM_FILES : await checkWarmFiles(row, deps.settings)
  const stays = isReserved ? await listWarmFiles(row.top) : warm.kept.map(({ folder }) => folder)
  const end = await switchSlot(row, stays, { isReserved })
  if (end.kind === 'switched') return { row, warm }
  deps.log.info({ task: row.task, top: row.top, why: end.why }, 'a slot is made anew')
  // What cannot be removed is put aside.
  await undoAddWorktree(row, repository.branch !== undefined).catch(() => undefined)
  await clearDirectory(row, deps)
  await addWorktree(row, repository, { ...deps, empty: isReserved })
  return { row, warm: NO_WARM_FILES }
}

/**
 * Reserves the worktree of an attempt that probably comes next: its folder is there and belongs to the repository, but is empty, or a slot
 * without a branch, so that a sandbox can be made around it. Undefined where anything is in the way: only the attempt itself may clear that away. Its row says
 * `making`, so the next daemon removes it if this one dies.
 */
export async function reserveWorktree(
  wanted: NewWorktreeRequest,
  deps: WorktreeDeps,
): Promise<WorktreeRow | undefined> {
  if (deps.settings.mode === 'off') return undefined
  const rows = await deps.store.worktrees.list({ task: wanted.task })
  if (rows.some(({ state, attempt }) => state !== 'removed' || attempt > wanted.attempt)) return undefined
  const lookup = await lookAt(wanted)
  if (lookup.kind !== 'there' || lookup.repository.branch) return undefined
  const slot = wanted.slot ? await takeOver(wanted, lookup.repository, { ...deps, isReserved: true }) : undefined
  const row = slot?.row ?? (await reserveEmpty(wanted, lookup.repository, deps))
  if (!row) return undefined
  try {
    await mkdir(row.directory, { recursive: true })
    return row
  } catch (error) {
    await removeWorktree(worktreeOfRow(row), deps)
    throw error
  }
}

async function reserveEmpty(
  wanted: NewWorktreeRequest,
  repository: Repository,
  deps: WorktreeDeps,
): Promise<WorktreeRow | undefined> {
  const top = wanted.slot ? await findFreeSlot(wanted.project, deps) : undefined
  const row = newRow(wanted, repository, deps, top)
  if (await lstat(row.top).catch(() => undefined)) return undefined
  await checkWorktreeLocation(row, repository, deps)
  if (!(await putInFreeSlot(row, deps))) return undefined
  await addWorktree(row, repository, { ...deps, empty: true })
  return row
}

/** Removes a reserved worktree that is not used. What somebody has written into it is put aside: it is nobody else's to delete. */
export async function discardReserved(
  reserved: WorktreeRow,
  deps: Pick<WorktreeDeps, 'store' | 'clock' | 'log'>,
): Promise<void> {
  const state = (await deps.store.worktrees.get(reserved))?.state
  const isTouched = async () =>
    (await isReadySlot(reserved))
      ? !(await isSlotUntouched(reserved, await listWarmFiles(reserved.top)))
      : hasFiles(reserved)
  if (state === 'making' && (await isTouched())) await putAside(reserved, deps)
  await removeWorktree(worktreeOfRow(reserved), deps)
}

/** Fills a reserved worktree from the tip of its target as it is now. Undefined if it is not the worktree that would be made now. */
async function fillReserved(
  wanted: NewWorktreeRequest,
  reserved: WorktreeRow,
  deps: WorktreeDeps,
): Promise<FilledWorktree | undefined> {
  const lookup = deps.settings.mode === 'off' ? undefined : await lookAt(wanted)
  if (lookup?.kind !== 'there' || lookup.repository.branch) return undefined
  const { repository } = lookup
  const row = newRow(wanted, repository, deps, wanted.slot ? reserved.top : undefined)
  const isSame = row.directory === reserved.directory && row.repository === reserved.repository
  const isElsewhere = dirname(reserved.top) !== dirname(newRow(wanted, repository, deps).top)
  const state = (await deps.store.worktrees.get(reserved))?.state
  if (!isSame || isElsewhere || state !== 'making') return undefined
  if (await isReadySlot(row)) {
    if (!(await isSlotUntouched(row, await listWarmFiles(row.top)))) return undefined
    await deps.store.worktrees.put(row)
    return changeBranch(row, repository, deps)
  }
  if (!(await isStillEmpty(row))) return undefined
  await deps.store.worktrees.put(row)
  if (await fillWorktree(row)) return { row, warm: NO_WARM_FILES }
  // What is there now is git's.
  await removeWorktree(worktreeOfRow(row), deps)
  return undefined
}

/** Whether a reserved slot has its files already: only its branch and what was merged meanwhile are missing. */
async function isReadySlot(row: WorktreeRow): Promise<boolean> {
  const own = isSlot(row) ? await findAdminFolder(row) : undefined
  return own !== undefined && existsSync(join(own, 'index')) && (await hasSavedIndex(row.top))
}

/** Whether nobody has written into a reserved worktree: neither files nor an index, in which files can pass for unchanged. */
async function isStillEmpty(row: WorktreeRow): Promise<boolean> {
  const own = await findAdminFolder(row)
  return own !== undefined && !existsSync(join(own, 'index')) && !(await hasFiles(row))
}

/** Whether there is anything but the folders that a reserved worktree has. */
async function hasFiles({ top, directory }: WorktreeRow): Promise<boolean> {
  const entries = await readdir(top, { recursive: true, withFileTypes: true }).catch(() => [])
  const isOurs = (path: string) => path === join(top, '.git') || isInside(directory, path)
  return entries.some(entry => entry.isSymbolicLink() || !isOurs(join(entry.parentPath, entry.name)))
}

/** Handles earlier worktrees of the task: this attempt's own is used again, an older attempt's is removed first. */
async function settleEarlierRows(wanted: NewWorktreeRequest, deps: WorktreeDeps): Promise<Worktree | undefined> {
  const rows = await deps.store.worktrees.list({ task: wanted.task })
  const present = rows.filter(({ state }) => PRESENT_WORKTREES.some(name => name === state))
  const newer = present.find(({ attempt }) => attempt > wanted.attempt)
  if (newer) {
    const why = `attempt ${newer.attempt} has it, and this is attempt ${wanted.attempt}`
    throw worktreeError(wanted, { why, remedy: `Look at it with: pcc worktree show ${wanted.task}` })
  }
  const own = rows.find(({ attempt }) => attempt === wanted.attempt)
  if (own?.state === 'live' && (await repairGitLink(own))) return worktreeOfRow(own)
  for (const row of present) {
    const removal = await removeWorktree(worktreeOfRow(row), deps)
    if (removal.kind === 'kept') throw stillThereError(wanted, row, removal.why)
  }
  // Its directory was deleted, or it was archived: the work so far is restored.
  const now = own && (await deps.store.worktrees.get(own))
  return now?.state === 'archived' ? restoreWorktree(now, deps) : undefined
}

function newRow(
  { project, task, attempt }: NewWorktreeRequest,
  repository: Repository,
  deps: WorktreeDeps,
  top = join(deps.root, projectFolderName(project), task),
): WorktreeRow {
  return {
    ...{ task, attempt, project, top, target: repository.target, base: repository.base },
    repository: repository.common,
    directory: join(top, repository.inside),
    branch: branchOfTask(task),
    state: 'making',
    ...{ reason: null, archive: null, setup: null, created_at: deps.clock.now(), ended_at: null },
  }
}

/** Checks that a worktree can be made in its folder; throws what to do where it cannot. */
async function checkWorktreeLocation(row: WorktreeRow, repository: Repository, deps: WorktreeDeps): Promise<void> {
  const [root, top] = [await realpathOfNew(deps.root), await realpathOfNew(repository.top)]
  if (isInside(top, root)) {
    const remedy = 'Start from the project that it belongs to.'
    throw worktreeError(row, { why: 'that directory is the worktree of a task itself', remedy })
  }
  if (isInside(root, top) && repository.top !== repository.common) {
    const ignored = await git(repository.top, ['check-ignore', '-q', '-z', '--stdin'], { input: `${root}\0` })
    const remedy = 'Let git ignore that directory, or name one elsewhere: pcc config set worktrees.directory PATH'
    if (!ignored.ok) throw worktreeError(row, { why: `worktrees would lie inside of the project, in ${root}`, remedy })
  }
  const { branch } = repository
  if (
    branch &&
    branch.checkedOutIn !== '' &&
    (await realpathOfNew(branch.checkedOutIn)) !== (await realpathOfNew(row.top))
  ) {
    const remedy = `Check another branch out there, or remove it: git worktree remove ${quoteForShell(branch.checkedOutIn)}`
    throw worktreeError(row, { why: `its branch ${row.branch} is checked out in ${branch.checkedOutIn}`, remedy })
  }
  try {
    await mkdir(dirname(row.top), { recursive: true, mode: 0o700 })
  } catch (thrown) {
    const { remedy } = explainGitError(`${messageOf(thrown)} Permission denied`)
    throw worktreeError(row, { why: messageOf(thrown), remedy })
  }
}

/** Clears a directory that no row knows of: a worktree of ours is archived, anything else is renamed. */
async function clearDirectory(row: WorktreeRow, deps: WorktreeDeps): Promise<void> {
  const stats = await lstat(row.top).catch(() => undefined)
  if (!stats || (stats.isDirectory() && (await readdir(row.top)).length === 0)) return
  if (await isOwnWorktree(row)) {
    const removal = await removeWorktreeDirectory(row, {})
    deps.log.warn({ task: row.task, top: row.top, ...removal }, 'a worktree without a row was in the way')
    if (removal.kind !== 'kept') return
    const remedy = `Look into it, then remove it: git worktree remove ${quoteForShell(row.top)}`
    throw worktreeError(row, { why: `${row.top} is there already, and ${removal.why}`, remedy })
  }
  await putAside(row, deps)
}

async function putAside(
  { top, task }: WorktreeRow,
  { clock, log }: Pick<WorktreeDeps, 'clock' | 'log'>,
): Promise<void> {
  const aside = `${top}.aside-${clock.now()}`
  await rename(top, aside)
  log.warn({ task, aside }, 'what lay where a worktree is made was put aside')
}

/** The real path, also of a path that does not exist yet. */
async function realpathOfNew(path: string): Promise<string> {
  const real = await realpath(path).catch(() => undefined)
  return real ?? (dirname(path) === path ? path : join(await realpathOfNew(dirname(path)), basename(path)))
}
