import { constants, existsSync } from 'node:fs'
import { lstat, mkdir, open, readdir, realpath, rename, writeFile } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import { crashPoint } from '../../base/crash-point.ts'
import { messageOf } from '../../base/errors.ts'
import { readTextIfAny } from '../../base/files.ts'
import { isInside } from '../../base/is-inside.ts'
import { openRealFolder } from '../../base/real-folder.ts'
import type { Worktree, WorktreeRow } from '../../domain/worktree.ts'
import { git, retryWhileBusy } from '../git/git.ts'
import { ARCHIVE_SUBJECT } from './archive.ts'
import { copyDependencies, noteDependencies, runSetupCommand } from './dependencies.ts'
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
import {
  explainGitError,
  findAdminFolder,
  gitErrorLine,
  isOwnWorktree,
  projectFolderName,
  repairGitLink,
  type WorktreeDeps,
  worktreeError,
  worktreeOfRow,
} from './worktree.ts'
import { forgetNote, noteSharedFiles } from './worktree-note.ts'

export interface NewWorktreeRequest {
  project: string
  task: string
  attempt: number
  /** The branch that the work is for; by default the one that is checked out in the project. */
  target?: string | undefined
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
  if (filled) return finishWorktree(filled, noteOn(filled), deps)
  if (reserved) await discardReserved(reserved, deps)
  if (deps.settings.mode === 'off') return { kind: 'in_place', why: 'worktrees.mode is off' }
  const existing = await settleEarlierRows(wanted, deps)
  if (existing) return existing
  const lookup = await lookAt(wanted)
  if (lookup.kind === 'in_place') return lookup
  if (lookup.kind === 'refused') throw worktreeError(wanted, lookup)
  const row = newRow(wanted, lookup.repository, deps)
  await checkWorktreeLocation(row, lookup.repository, deps)
  await deps.store.worktrees.put(row)
  crashPoint('place.before-add')
  return finishWorktree(row, await addWorktree(row, lookup.repository, deps), deps)
}

async function finishWorktree(row: WorktreeRow, reason: string | null, deps: WorktreeDeps): Promise<Worktree> {
  crashPoint('place.after-add')
  const setup = await setUpWorktree(row, deps)
  return markLive(row, { reason, setup }, deps)
}

/** Writes that a worktree can be worked in, together with its event. */
async function markLive(
  row: WorktreeRow,
  { restored, ...patch }: Partial<WorktreeRow> & { restored?: string },
  { store }: WorktreeDeps,
): Promise<Worktree> {
  const { task, attempt, branch, target, base, directory } = row
  const body = { task, attempt, branch, target, base, directory, ...(restored !== undefined && { restored }) }
  await store.transaction(async tx => {
    await store.worktrees.update(row, { state: 'live', ...patch }, tx)
    await tx.append([{ actor: 'daemon', subject: task, kind: 'worktree.made', body }])
  })
  return worktreeOfRow(row)
}

/**
 * Reserves the worktree of an attempt that probably comes next: its folder is there and belongs to the repository, but is empty, so that
 * a sandbox can be made around it. Undefined where anything is in the way: only the attempt itself may clear that away. Its row says
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
  const row = newRow(wanted, lookup.repository, deps)
  if (await lstat(row.top).catch(() => undefined)) return undefined
  await checkWorktreeLocation(row, lookup.repository, deps)
  await deps.store.worktrees.put(row)
  await addWorktree(row, lookup.repository, { ...deps, empty: true })
  try {
    await mkdir(row.directory, { recursive: true })
    return row
  } catch (error) {
    await removeWorktree(worktreeOfRow(row), deps)
    throw error
  }
}

/** Removes a reserved worktree that is not used. What somebody has written into it is put aside: it is nobody else's to delete. */
export async function discardReserved(
  reserved: WorktreeRow,
  deps: Pick<WorktreeDeps, 'store' | 'clock' | 'log'>,
): Promise<void> {
  const state = (await deps.store.worktrees.get(reserved))?.state
  if (state === 'making' && (await hasFiles(reserved))) await putAside(reserved, deps)
  await removeWorktree(worktreeOfRow(reserved), deps)
}

/** Fills a reserved worktree from the tip of its target as it is now. Undefined if it is not the worktree that would be made now. */
async function fillReserved(
  wanted: NewWorktreeRequest,
  reserved: WorktreeRow,
  deps: WorktreeDeps,
): Promise<WorktreeRow | undefined> {
  const lookup = deps.settings.mode === 'off' ? undefined : await lookAt(wanted)
  if (lookup?.kind !== 'there' || lookup.repository.branch) return undefined
  const row = newRow(wanted, lookup.repository, deps)
  const isSame = row.directory === reserved.directory && row.repository === reserved.repository
  const state = (await deps.store.worktrees.get(reserved))?.state
  if (!isSame || state !== 'making' || !(await isStillEmpty(row))) return undefined
  await deps.store.worktrees.put(row)
  if (await fillWorktree(row)) return row
  // What is there now is git's.
  await removeWorktree(worktreeOfRow(row), deps)
  return undefined
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
  const present = rows.filter(({ state }) => state === 'making' || state === 'live')
  const newer = present.find(({ attempt }) => attempt > wanted.attempt)
  if (newer) {
    const why = `attempt ${newer.attempt} has it, and this is attempt ${wanted.attempt}`
    throw worktreeError(wanted, { why, remedy: `Look at it with: pcc worktree show ${wanted.task}` })
  }
  const own = rows.find(({ attempt }) => attempt === wanted.attempt)
  if (own?.state === 'live' && (await repairGitLink(own))) return worktreeOfRow(own)
  for (const row of present) {
    const removal = await removeWorktree(worktreeOfRow(row), deps)
    if (removal.kind !== 'kept') continue
    const remedy = `See it with: pcc worktree show ${wanted.task}. It is in ${row.top}`
    throw worktreeError(wanted, { why: `that of attempt ${row.attempt} cannot be put away: ${removal.why}`, remedy })
  }
  // Its directory was deleted, or it was archived: the work so far is restored.
  const now = own && (await deps.store.worktrees.get(own))
  return now?.state === 'archived' ? restoreWorktree(now, deps) : undefined
}

function newRow(
  { project, task, attempt }: NewWorktreeRequest,
  repository: Repository,
  deps: WorktreeDeps,
): WorktreeRow {
  const top = join(deps.root, projectFolderName(project), task)
  return {
    ...{ task, attempt, project, top, target: repository.target, base: repository.base },
    repository: repository.common,
    directory: join(top, repository.inside),
    branch: `pcc/${task}`,
    state: 'making',
    ...{ reason: null, archive: null, setup: null, created_at: deps.clock.now(), ended_at: null },
  }
}

/** Checks that a worktree can be made at its path; throws what to do where it cannot. Nothing at that path is deleted. */
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
    const remedy = `Check another branch out there, or remove it: git worktree remove ${branch.checkedOutIn}`
    throw worktreeError(row, { why: `its branch ${row.branch} is checked out in ${branch.checkedOutIn}`, remedy })
  }
  try {
    await mkdir(dirname(row.top), { recursive: true, mode: 0o700 })
  } catch (thrown) {
    const { remedy } = explainGitError(`${messageOf(thrown)} Permission denied`)
    throw worktreeError(row, { why: messageOf(thrown), remedy })
  }
  await clearDirectory(row, deps)
}

/** Clears a directory that no row knows of: a worktree of ours is archived, anything else is renamed. */
async function clearDirectory(row: WorktreeRow, deps: WorktreeDeps): Promise<void> {
  const stats = await lstat(row.top).catch(() => undefined)
  if (!stats || (stats.isDirectory() && (await readdir(row.top)).length === 0)) return
  if (await isOwnWorktree(row)) {
    const removal = await removeWorktreeDirectory(row, {})
    deps.log.warn({ task: row.task, top: row.top, ...removal }, 'a worktree without a row was in the way')
    if (removal.kind !== 'kept') return
    const remedy = `Look into it, then remove it: git worktree remove ${row.top}`
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

/**
 * Sets up what a worktree needs beside its files: our note, the dependencies, the person's set-up command. Failures are noted for
 * the person and stop nothing: the gates decide whether the work is good.
 */
async function setUpWorktree(
  row: WorktreeRow,
  { settings, env, log, sandbox, caps }: WorktreeDeps,
): Promise<string | null> {
  await mkdir(row.directory, { recursive: true }) // a project may be a folder that was never committed
  const timeoutMs = settings.setup_seconds * 1000
  const note = await writeTaskFile(row)
  await forgetNote(row.top)
  await noteSharedFiles(row, [row.base])
  const { reports: copying, copied } = await copyDependencies(row, settings.link, AbortSignal.timeout(timeoutMs))
  const reports = [...(note ? [note] : []), ...copying]
  if (settings.setup !== undefined) {
    const run = { command: settings.setup, directory: row.directory, env, timeoutMs, sandbox, caps }
    reports.push((await runSetupCommand(run)).report)
  }
  const inside = relative(row.top, row.directory)
  const hasSetUp = settings.setup !== undefined
  await noteDependencies(row.top, { copied: copied.map(name => join(inside, name)), hasSetUp })
  if (reports.length === 0) return null
  log.info({ task: row.task, attempt: row.attempt, said: reports }, 'worktree made ready')
  return reports.join('\n')
}

/** The only file of ours in a worktree, as a git pattern: specs and notes beside it belong to the person and are not ignored. */
const TASK_FILE_PATTERN = '**/.perpetualcc/task.json'

/**
 * Writes a file into the worktree that says which task it belongs to, and keeps that file out of the project's history. Returns
 * why it could not, for instance where the project has a file of that name itself.
 */
async function writeTaskFile(row: WorktreeRow): Promise<string | undefined> {
  const folder = join(row.directory, '.perpetualcc')
  const { task, attempt, branch, target, base, project } = row
  const text = `${JSON.stringify({ task, attempt, branch, target, base, project }, null, 2)}\n`
  try {
    // The repository may contain a link of that name, or one above it, which could lead anywhere.
    await using real = await openRealFolder(row.top, relative(row.top, folder), { make: true })
    if (!real) return 'no task.json: .perpetualcc is no directory there'
    await writeFile(real.at('task.json'), text, { flag: 'wx' })
    await excludeTaskFile(row.repository)
    return undefined
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException
    if (code === 'EEXIST') return (await isOurs(folder, task)) ? undefined : 'no task.json: the project has one itself'
    return `no task.json: ${code ?? thrown}`
  }
}

async function isOurs(folder: string, task: string): Promise<boolean> {
  return ((await readTextIfAny(join(folder, 'task.json')).catch(() => '')) ?? '').includes(
    `"task": ${JSON.stringify(task)}`,
  )
}

/** The exclude list applies to all checkouts of the repository, so that only one line for one file is added, once. */
async function excludeTaskFile(repository: string): Promise<void> {
  await using info = await openRealFolder(repository, 'info', { make: true })
  // A link of that name is not followed.
  await using file = info && (await open(info.at('exclude'), EXTEND_PLAIN, 0o644).catch(unlessLink))
  if (!file || !(await file.stat()).isFile()) return
  const text = await file.readFile('utf8')
  if (text.split('\n').includes(TASK_FILE_PATTERN)) return
  const gap = text === '' || text.endsWith('\n') ? '' : '\n'
  await file.appendFile(`${gap}# what pcc writes into its worktrees\n${TASK_FILE_PATTERN}\n`)
}

const { O_RDWR, O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants
const EXTEND_PLAIN = O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK

function unlessLink(thrown: NodeJS.ErrnoException): undefined {
  if (thrown.code !== 'ELOOP') throw thrown
}

/**
 * Restores an archived worktree: the commit that was checked out, with all uncommitted changes uncommitted again. Its ref stays
 * until it is too old.
 */
export async function restoreWorktree(row: WorktreeRow, deps: WorktreeDeps): Promise<Worktree> {
  const { archive } = row
  const at = existsSync(row.project) ? row.project : row.repository
  const head = archive && (await readArchivedHead(archive, at))
  if (!archive || !head) {
    const remedy = `See what is left with: git for-each-ref refs/pcc/archive/${row.task}`
    throw worktreeError(row, { why: 'what was archived of it is gone', remedy })
  }
  await makeRoom(row, deps)
  await keepBranch(row, archive, at)
  await deps.store.worktrees.update(row, { state: 'making', ended_at: null })
  await mkdir(dirname(row.top), { recursive: true, mode: 0o700 })
  const add = ['worktree', 'add', '-f', '-q', '--no-track', '-B', row.branch, row.top, archive]
  const added = await retryWhileBusy(() => git(at, add, { timeoutMs: 10 * 60_000 }))
  // The branch goes back by one commit and the files stay, so that uncommitted changes are uncommitted again.
  const reset = added.ok ? await git(row.top, ['reset', '-q', head]) : added
  if (!reset.ok) {
    await undoAddWorktree(row, false)
    await deps.store.worktrees.update(row, { state: 'archived', reason: gitErrorLine(reset.stderr) })
    throw worktreeError(row, explainGitError(reset.stderr))
  }
  await writeTaskFile(row)
  await noteSharedFiles(row, []) // which commits it was put onto since is no longer known
  return markLive(row, { reason: `restored from ${archive}`, restored: archive }, deps)
}

/** All attempts at a task use the same directory: another attempt's worktree is removed first, or the restore is refused. */
async function makeRoom(row: WorktreeRow, deps: WorktreeDeps): Promise<void> {
  const rows = await deps.store.worktrees.list({ task: row.task })
  for (const other of rows.filter(({ state }) => state === 'making' || state === 'live')) {
    const removal = await removeWorktree(worktreeOfRow(other), deps)
    if (removal.kind !== 'kept') continue
    const remedy = `See it with: pcc worktree show ${row.task}. It is in ${other.top}`
    throw worktreeError(row, { why: `that of attempt ${other.attempt} cannot be put away: ${removal.why}`, remedy })
  }
  const stats = await lstat(row.top).catch(() => undefined)
  if (!stats || (stats.isDirectory() && (await readdir(row.top)).length === 0)) return
  throw worktreeError(row, { why: `${row.top} is there already`, remedy: 'Move it away, then try again.' })
}

/** The branch is created again from the archive: commits that it got since are archived first. */
async function keepBranch(row: WorktreeRow, archive: string, at: string): Promise<void> {
  const { ok, stdout } = await git(at, ['rev-parse', '-q', '--verify', `refs/heads/${row.branch}^{commit}`])
  const tip = stdout.trim()
  if (ok && !(await git(at, ['merge-base', '--is-ancestor', tip, archive])).ok) await archiveCommit(row, tip, at)
}

/** The commit that was checked out: the first parent of what `archiveWorktree` wrote, or an archived branch commit itself. */
async function readArchivedHead(archive: string, at: string): Promise<string | undefined> {
  const { ok, stdout } = await git(at, ['log', '-1', '--format=%H%n%P%n%s', archive, '--'])
  const [own = '', parents = '', subject = ''] = stdout.split('\n')
  if (!ok || own === '') return undefined
  return subject.startsWith(ARCHIVE_SUBJECT) ? parents.split(' ')[0] : own
}
