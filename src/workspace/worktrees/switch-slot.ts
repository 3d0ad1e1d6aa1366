import { lstat, readdir, rm, stat } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import { crashPoint } from '../../base/crash-point.ts'
import { readRegularFile } from '../../base/files.ts'
import { removeInside } from '../../base/real-folder.ts'
import type { WorktreeRow } from '../../domain/worktree.ts'
import { findUnseen, installIndex, readIndexFile, readIndexMarks } from '../git/checkout-state.ts'
import { git, retryWhileBusy } from '../git/git.ts'
import { hidesWrites } from './dependencies.ts'
import { findAdminFolder, gitErrorLine } from './worktree.ts'
import { replaceBeside } from './worktree-note.ts'

/** How a slot's change of branch ended. `doubt`: it may differ from a new worktree, and has to be made anew. */
export type SlotSwitch = { kind: 'switched' } | { kind: 'doubt'; why: string }

/** A large repository on a slow disk takes its time. */
const PATIENCE_MS = 10 * 60_000

/**
 * Gives a slot, in which nothing is left to keep, the branch and the files that a new worktree would have. Nothing that the last task's
 * agent may have written is believed: git's folder for the worktree is emptied of all but its pointers, the index is the one that was
 * saved before the agent began, and every file whose change time differs from that index is written anew. Everything that is not
 * tracked goes, except the paths in `warm`. A reserved slot gets the files only.
 */
export async function switchSlot(
  row: WorktreeRow,
  warm: readonly string[],
  { isReserved = false }: { isReserved?: boolean } = {},
): Promise<SlotSwitch> {
  const own = await findAdminFolder(row)
  if (own === undefined) return doubt('its file .git does not belong to the repository any more')
  const why = await emptyAdminFolder(own)
  if (why !== undefined) return doubt(why)
  if (!(await installIndex(own, savedIndexOf(row.top)))) return doubt('the index from before its last task is missing')
  // Where change times do not tell, all files are written anew.
  if (await hidesWrites(row.top)) await git(row.top, ['read-tree', '--empty'])
  crashPoint('slot.before-switch')
  const switched = await checkOut(row, isReserved)
  if (!switched.ok) return doubt(gitErrorLine(switched.stderr))
  crashPoint('slot.after-switch')
  await saveIndex(row)
  const problem =
    (await removeLeftovers(row.top, warm)) ??
    (await whySubmodulesFilled(row.top, own)) ??
    (await removeUnseen(row.top, own, warm))
  return problem === undefined ? { kind: 'switched' } : doubt(problem)
}

/** Whether nobody has written into a slot since its last change of branch, apart from the paths in `warm`. */
export async function isSlotUntouched(row: WorktreeRow, warm: readonly string[]): Promise<boolean> {
  const listed = await listOthers(row.top, { GIT_INDEX_FILE: savedIndexOf(row.top) })
  if (!listed || listed.some(({ isTracked }) => isTracked)) return false
  const others = listed.map(({ path }) => path).filter(path => !isWarm(path, warm))
  const areOurs = await Promise.all(others.map(path => isEmptyProjectFolder(row, path)))
  return areOurs.every(Boolean)
}

/** Whether a path is the folder of a project of which nothing is committed: it was made for the sandbox. */
async function isEmptyProjectFolder({ top, directory }: WorktreeRow, path: string): Promise<boolean> {
  const inside = relative(top, directory)
  if (inside !== path && !inside.startsWith(`${path}/`)) return false
  const entries = await readdir(join(top, path), { recursive: true, withFileTypes: true })
  return entries.every(entry => entry.isDirectory())
}

/** The paths in a worktree that git does not track, folders as a whole. Undefined if git fails. */
export async function listUntracked(top: string): Promise<string[] | undefined> {
  return (await listOthers(top))?.filter(({ isTracked }) => !isTracked).map(({ path }) => path)
}

function doubt(why: string): SlotSwitch {
  return { kind: 'doubt', why }
}

/** A reserved slot has no branch yet, so that none is left over if nobody needs it. */
function checkOut({ top, branch, base }: WorktreeRow, isReserved: boolean) {
  // `-B`: the branch may exist, as that of an earlier attempt whose commits were archived.
  const args = ['checkout', '-q', '-f', ...(isReserved ? ['--detach'] : ['--no-track', '-B', branch]), base]
  return retryWhileBusy(() => git(top, args, { timeoutMs: PATIENCE_MS }))
}

/** The files of git's folder for a worktree that stay, and those that tell of work that is over. */
const POINTERS = new Set(['HEAD', 'commondir', 'gitdir', 'index', 'config.worktree'])
const TRACES = new Set(['ORIG_HEAD', 'COMMIT_EDITMSG', 'FETCH_HEAD', 'REBASE_HEAD', 'AUTO_MERGE', 'logs', 'refs'])

/**
 * Removes the traces of the last task from git's folder for the worktree. Returns why that is not enough: anything else in it (an
 * unfinished rebase, settings, the data of submodules, a lock) is not known to be harmless.
 */
async function emptyAdminFolder(own: string): Promise<string | undefined> {
  const entries = await readdir(own, { withFileTypes: true })
  const odd = entries.find(entry => !POINTERS.has(entry.name) && !TRACES.has(entry.name))
  if (odd) return `git's folder for it holds ${odd.name}`
  const link = entries.find(entry => !entry.isFile() && !entry.isDirectory())
  if (link) return `${link.name} in git's folder for it is a link or no ordinary file`
  const refs = await readdir(join(own, 'refs'), { recursive: true, withFileTypes: true }).catch(() => [])
  if (refs.some(entry => !entry.isDirectory())) return "git's folder for it holds refs of its own"
  // Sandboxes leave an empty one, over which nothing can be written.
  const settings = await lstat(join(own, 'config.worktree')).catch(() => undefined)
  if (settings && settings.size > 0) return 'it has settings of its own'
  const common = (await readRegularFile(join(own, 'commondir'))).toString()
  if (common !== '../..\n') return 'it names another repository as its own'
  for (const name of TRACES) await removeInside(own, name)
  return undefined
}

/** The index of a slot as pcc's own git wrote it is kept beside the worktree, where no agent can write. */
function savedIndexOf(top: string): string {
  return join(dirname(top), `.${basename(top)}.pcc-index`)
}

/**
 * Saves the index before an agent works in the slot. An agent could write one by which a changed file passes for an unchanged one;
 * against this one it cannot, because nobody can set the change time of a file back.
 */
export async function saveIndex(row: Pick<WorktreeRow, 'top' | 'repository'>): Promise<void> {
  const own = await findAdminFolder(row)
  const file = savedIndexOf(row.top)
  try {
    const index = own && (await readIndexFile(own))
    if (!index) return void (await rm(file, { force: true }))
    // Git reads a file again that was changed in the second in which the index was written, so a copy must not be younger.
    await replaceBeside(file, index, Math.floor((await stat(join(own, 'index'))).mtimeMs / 1000))
  } catch {
    await rm(file, { force: true }) // without one, the slot is made anew
  }
}

/** Whether an index was saved, without which nobody knows whether somebody has written into the slot. */
export async function hasSavedIndex(top: string): Promise<boolean> {
  return (await lstat(savedIndexOf(top)).catch(() => undefined))?.isFile() ?? false
}

/** Called when the slot is gone. */
export async function forgetIndex(top: string): Promise<void> {
  await rm(savedIndexOf(top), { force: true })
}

interface ListedPath {
  isTracked: boolean
  /** Without the slash at the end of a folder. */
  path: string
}

/** Everything that is not tracked, empty folders included, and tracked files that differ from the index. Undefined if git fails. */
async function listOthers(top: string, env?: Record<string, string>): Promise<ListedPath[] | undefined> {
  const args = ['ls-files', '-z', '-t', '--others', '--directory', '--modified', '--deleted']
  const { ok, stdout } = await git(top, args, { env })
  if (!ok) return undefined
  const lines = stdout.split('\0').filter(line => line !== '')
  return lines.map(line => ({ isTracked: !line.startsWith('? '), path: line.slice(2).replace(/\/$/, '') }))
}

function isWarm(path: string, warm: readonly string[]): boolean {
  return warm.some(folder => path === folder || path.startsWith(`${folder}/`))
}

/** Removes what is not tracked. Returns what is wrong if that is not possible, or if a tracked file is not as committed. */
async function removeLeftovers(top: string, warm: readonly string[]): Promise<string | undefined> {
  const listed = await listOthers(top)
  if (!listed) return 'git cannot tell what is in it'
  const changed = listed.find(({ isTracked }) => isTracked)
  if (changed) return `${changed.path} is not as committed`
  for (const { path } of listed) {
    if (isWarm(path, warm)) continue
    if (!(await removeInside(top, path))) return `${path} cannot be removed`
  }
  return undefined
}

/** Removes what no list of git names. Returns what is wrong if that is not possible. */
async function removeUnseen(top: string, own: string, warm: readonly string[]): Promise<string | undefined> {
  const unseen = await findUnseen({ top, own }, warm)
  if (!unseen) return 'its index cannot be read'
  for (const path of unseen.paths) if (!(await removeInside(top, path))) return `${path} cannot be removed`
  return undefined
}

/** Git lists nothing within the folder of a submodule, which is empty in a new worktree. */
async function whySubmodulesFilled(top: string, own: string): Promise<string | undefined> {
  const marks = await readIndexMarks(top, own)
  if (!marks) return 'its index cannot be read'
  for (const path of marks.submodules) {
    const isFolder = (await lstat(join(top, path)).catch(() => undefined))?.isDirectory()
    if (!isFolder || (await readdir(join(top, path))).length > 0) return `its submodule ${path} is not empty`
  }
  return undefined
}
