import { existsSync } from 'node:fs'
import { lstat, mkdir, readdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Place, Worktree } from '../../../domain/workspace/place.ts'
import { git } from '../../git/git.ts'
import { outlastOthers } from '../../git/outlast-others.ts'
import { undo } from '../add-worktree.ts'
import { noteShared } from '../notes/shared-files.ts'
import type { WorktreeParts } from '../parts.ts'
import { placeOf } from '../place-of.ts'
import { writeTaskFile } from '../ready/task-file.ts'
import { meaningOf, refusal, told } from '../refusal.ts'
import { removePlace } from '../remove-place.ts'
import { ARCHIVED } from './archive.ts'
import { keepCommit } from './keep-commit.ts'

/**
 * Brings an archived worktree back as it was: what was checked out then, with everything that was not committed lying there
 * uncommitted again. Its ref stays until it is too old.
 */
export async function restoreRow(row: Worktree, parts: WorktreeParts): Promise<Place> {
  const { archive } = row
  const at = existsSync(row.project) ? row.project : row.repository
  const head = archive && (await headOf(archive, at))
  if (!archive || !head) {
    const remedy = `See what is left with: git for-each-ref refs/pcc/archive/${row.task}`
    throw refusal(row, { why: 'what was archived of it is gone', remedy })
  }
  await makeRoom(row, parts)
  await keepBranch(row, archive, at)
  await parts.store.worktrees.update(row, { state: 'making', ended_at: null })
  await mkdir(dirname(row.top), { recursive: true, mode: 0o700 })
  const add = ['worktree', 'add', '-f', '-q', '--no-track', '-B', row.branch, row.top, archive]
  const added = await outlastOthers(() => git(at, add, { timeoutMs: 10 * 60_000 }))
  // Its branch goes back by one, its files stay: what was not committed is so again.
  const reset = added.ok ? await git(row.top, ['reset', '-q', head]) : added
  if (!reset.ok) {
    await undo(row, false)
    await parts.store.worktrees.update(row, { state: 'archived', reason: told(reset.stderr) })
    throw refusal(row, meaningOf(reset.stderr))
  }
  await writeTaskFile(row)
  await noteShared(row, []) // what it was put onto since is not known any more
  await parts.store.worktrees.update(row, { state: 'live', reason: `restored from ${archive}` })
  return placeOf(row)
}

/** All attempts at a task have the same directory: what lies there is put away, or it stays and this is refused. */
async function makeRoom(row: Worktree, parts: WorktreeParts): Promise<void> {
  const rows = await parts.store.worktrees.list({ task: row.task })
  for (const other of rows.filter(({ state }) => state === 'making' || state === 'live')) {
    const removal = await removePlace(placeOf(other), parts)
    if (removal.kind !== 'kept') continue
    const remedy = `See it with: pcc worktree show ${row.task}. It is in ${other.top}`
    throw refusal(row, { why: `that of attempt ${other.attempt} cannot be put away: ${removal.why}`, remedy })
  }
  const stats = await lstat(row.top).catch(() => undefined)
  if (!stats || (stats.isDirectory() && (await readdir(row.top)).length === 0)) return
  throw refusal(row, { why: `${row.top} is there already`, remedy: 'Move it away, then try again.' })
}

/** Its branch is made anew from the archive: what it got since is kept. */
async function keepBranch(row: Worktree, archive: string, at: string): Promise<void> {
  const { ok, stdout } = await git(at, ['rev-parse', '-q', '--verify', `refs/heads/${row.branch}^{commit}`])
  const tip = stdout.trim()
  if (ok && !(await git(at, ['merge-base', '--is-ancestor', tip, archive])).ok) await keepCommit(row, tip, at)
}

/** What was checked out when it was archived: the first parent of what `archiveTree` wrote; a kept branch stands for itself. */
async function headOf(archive: string, at: string): Promise<string | undefined> {
  const { ok, stdout } = await git(at, ['log', '-1', '--format=%H%n%P%n%s', archive, '--'])
  const [own = '', parents = '', subject = ''] = stdout.split('\n')
  if (!ok || own === '') return undefined
  return subject.startsWith(ARCHIVED) ? parents.split(' ')[0] : own
}
