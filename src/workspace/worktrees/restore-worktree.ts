import { existsSync } from 'node:fs'
import { lstat, mkdir, readdir } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { isSlot, PRESENT_WORKTREES, type Worktree, type WorktreeRow } from '../../domain/worktree.ts'
import { git, retryWhileBusy } from '../git/git.ts'
import { ARCHIVE_SUBJECT } from './archive.ts'
import { removeWorktree } from './remove-worktree.ts'
import { archiveCommit, undoAddWorktree } from './repository.ts'
import { noteReady, taskFileOf, writeTaskFile } from './set-up-worktree.ts'
import {
  explainGitError,
  gitErrorLine,
  markLive,
  projectFolderName,
  stillThereError,
  type WorktreeDeps,
  worktreeError,
  worktreeOfRow,
} from './worktree.ts'
import { noteSharedFiles } from './worktree-note.ts'

/**
 * Restores an archived worktree: the commit that was checked out, with all uncommitted changes uncommitted again. Its ref stays
 * until it is too old. One in which nothing was begins again at the commit from which it was made.
 */
export async function restoreWorktree(archived: WorktreeRow, deps: WorktreeDeps): Promise<Worktree> {
  const row = await outsideOfSlot(archived, deps)
  const archive = row.archive ?? row.base
  const at = existsSync(row.project) ? row.project : row.repository
  const head = await readArchivedHead(archive, at)
  if (!head) {
    const remedy = `See what is left with: git for-each-ref refs/pcc/archive/${row.task}`
    throw worktreeError(row, { why: 'what was archived of it is gone', remedy })
  }
  await makeRoom(row, deps)
  await keepBranch(row, archive, at)
  const { top, directory } = row
  await deps.store.worktrees.update(row, { state: 'making', ended_at: null, top, directory })
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
  await stageForced(row.top)
  await writeTaskFile(row)
  await noteSharedFiles(row, []) // which commits it was put onto since is no longer known
  await noteReady(row.top, [taskFileOf(row)]) // nothing else was set up here: all that git does not track is the agent's
  return markLive(row, { reason: `restored from ${archive}`, restored: archive }, deps)
}

/** What git ignores is in an archive only if it was staged by force: it stays part of the work, or no gate would see it and no commit hold it. */
async function stageForced(top: string): Promise<void> {
  const listed = await git(top, ['ls-files', '--others', '--ignored', '--exclude-standard', '-z'])
  const add = ['add', '--intent-to-add', '--force', '--pathspec-from-file=-', '--pathspec-file-nul']
  if (listed.stdout !== '') await git(top, add, { input: listed.stdout })
}

/** Work of a slot comes back to where it was done, unless the slot has another task by now: then to a directory of its own. */
async function outsideOfSlot(row: WorktreeRow, { store, root }: WorktreeDeps): Promise<WorktreeRow> {
  const present = await store.worktrees.list({ project: row.project, states: PRESENT_WORKTREES })
  if (!isSlot(row) || (!existsSync(row.top) && !present.some(({ top }) => top === row.top))) return row
  const top = join(root, projectFolderName(row.project), row.task)
  return { ...row, top, directory: join(top, relative(row.top, row.directory)) }
}

/** All attempts at a task use the same directory: another attempt's worktree is removed first, or the restore is refused. */
async function makeRoom(row: WorktreeRow, deps: WorktreeDeps): Promise<void> {
  const rows = await deps.store.worktrees.list({ task: row.task })
  for (const other of rows.filter(({ state }) => PRESENT_WORKTREES.some(name => name === state))) {
    const removal = await removeWorktree(worktreeOfRow(other), deps)
    if (removal.kind === 'kept') throw stillThereError(row, other, removal.why)
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
