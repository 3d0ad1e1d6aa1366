import { lstat, mkdir, readdir, realpath, rename } from 'node:fs/promises'
import { basename, dirname, join, relative, sep } from 'node:path'
import { messageOf } from '../../base/errors.ts'
import type { Worktree } from '../../domain/workspace/place.ts'
import { git } from '../git/git.ts'
import { isGenuine } from './genuine.ts'
import type { WorktreeParts } from './parts.ts'
import { meaningOf, refusal } from './refusal.ts'
import { removeRow } from './remove-row.ts'
import type { Repository } from './repository.ts'

/** Sees that a worktree can stand where it is to stand, or refuses with what to do. Nothing that lies there is deleted. */
export async function checkGround(row: Worktree, repository: Repository, parts: WorktreeParts): Promise<void> {
  const [root, top] = [await real(parts.root), await real(repository.top)]
  if (isInside(top, root)) {
    const remedy = 'Start from the project that it belongs to.'
    throw refusal(row, { why: 'that directory is the worktree of a task itself', remedy })
  }
  if (isInside(root, top) && repository.top !== repository.common) {
    const ignored = await git(repository.top, ['check-ignore', '-q', '-z', '--stdin'], { input: `${root}\0` })
    const remedy = 'Let git ignore that directory, or name one elsewhere: pcc config set worktrees.directory PATH'
    if (!ignored.ok) throw refusal(row, { why: `worktrees would lie inside of the project, in ${root}`, remedy })
  }
  const { branch } = repository
  if (branch && branch.checkedOutIn !== '' && (await real(branch.checkedOutIn)) !== (await real(row.top))) {
    const remedy = `Check another branch out there, or remove it: git worktree remove ${branch.checkedOutIn}`
    throw refusal(row, { why: `its branch ${row.branch} is checked out in ${branch.checkedOutIn}`, remedy })
  }
  try {
    await mkdir(dirname(row.top), { recursive: true, mode: 0o700 })
  } catch (thrown) {
    const { remedy } = meaningOf(`${messageOf(thrown)} Permission denied`)
    throw refusal(row, { why: messageOf(thrown), remedy })
  }
  await clear(row, parts)
}

/** A directory of which no row is known: a worktree of ours is archived, anything else is put aside. */
async function clear(row: Worktree, parts: WorktreeParts): Promise<void> {
  const stats = await lstat(row.top).catch(() => undefined)
  if (!stats || (stats.isDirectory() && (await readdir(row.top)).length === 0)) return
  if (await isGenuine(row)) {
    const removal = await removeRow(row, {})
    parts.log.warn({ task: row.task, top: row.top, ...removal }, 'a worktree without a row was in the way')
    if (removal.kind !== 'kept') return
    const remedy = `Look into it, then remove it: git worktree remove ${row.top}`
    throw refusal(row, { why: `${row.top} is there already, and ${removal.why}`, remedy })
  }
  const aside = `${row.top}.aside-${parts.clock.now()}`
  await rename(row.top, aside)
  parts.log.warn({ task: row.task, aside }, 'what lay where a worktree is made was put aside')
}

function isInside(path: string, folder: string): boolean {
  const way = relative(folder, path)
  return way === '' || !(way === '..' || way.startsWith(`..${sep}`))
}

/** Where links lead, also of what is not there yet. */
async function real(path: string): Promise<string> {
  const found = await realpath(path).catch(() => undefined)
  return found ?? (dirname(path) === path ? path : join(await real(dirname(path)), basename(path)))
}
