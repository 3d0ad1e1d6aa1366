import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { crashPoint } from '../../base/crash-point.ts'
import { AppError } from '../../base/errors.ts'
import type { Place, Worktree } from '../../domain/workspace/place.ts'
import { git } from '../git/git.ts'
import { isGenuine } from './genuine.ts'
import { keepCommit } from './gone/keep-commit.ts'
import type { WorktreeParts } from './parts.ts'
import { removePlace } from './remove-place.ts'
import { lookAt, type Repository, told } from './repository.ts'

export interface WantedPlace {
  project: string
  task: string
  attempt: number
  /** The branch that the work is for; the one that is checked out in the project, where nobody says. */
  target?: string | undefined
}

export interface InPlace {
  kind: 'in_place'
  why: string
}

/**
 * Gives an attempt at a task a worktree of its own, from the tip of its target. The row is there before git does anything and
 * says `live` when it is done, so that whoever starts after a death knows what to look for; asked again for the same attempt,
 * it gives the same. Throws `place_refused` where a person has to do something first.
 */
export async function makePlace(wanted: WantedPlace, parts: WorktreeParts): Promise<Place | InPlace> {
  if (parts.settings.mode === 'off') return { kind: 'in_place', why: 'worktrees.mode is off' }
  const mine = await settleRows(wanted, parts)
  if (mine) return mine
  const look = await lookAt(wanted)
  if (look.kind === 'in_place') return look
  if (look.kind === 'refused') throw refusal(wanted, look)
  const row = rowFor(wanted, look.repository, parts)
  await parts.store.worktrees.put(row)
  crashPoint('place.before-add')
  await addWorktree(row, look.repository, parts)
  crashPoint('place.after-add')
  await parts.store.worktrees.update(row, { state: 'live' })
  return placeOf(row)
}

/** The place as a session keeps it. */
export function placeOf({ directory, top, task, attempt, branch, target, base }: Worktree): Place {
  return { directory, top, task, attempt, branch, target, base }
}

/** What there is of the task already: this attempt's own is gone on with, an older one's is put away first. */
async function settleRows(wanted: WantedPlace, parts: WorktreeParts): Promise<Place | undefined> {
  const rows = await parts.store.worktrees.list({ task: wanted.task, states: ['making', 'live'] })
  const newer = rows.find(({ attempt }) => attempt > wanted.attempt)
  if (newer) {
    const why = `attempt ${newer.attempt} has it, and this is attempt ${wanted.attempt}`
    throw refusal(wanted, { why, remedy: `Look at it with: pcc worktree show ${wanted.task}` })
  }
  for (const row of rows) {
    const isThere = row.state === 'live' && (await isGenuine(row))
    if (row.attempt === wanted.attempt && isThere) return placeOf(row)
    if (row.attempt !== wanted.attempt) await removePlace(placeOf(row), parts)
  }
  return undefined
}

function rowFor({ project, task, attempt }: WantedPlace, repository: Repository, parts: WorktreeParts): Worktree {
  const top = join(parts.root, folderFor(project), task)
  return {
    ...{ task, attempt, project, top, target: repository.target, base: repository.base },
    repository: repository.common,
    directory: join(top, repository.inside),
    branch: `pcc/${task}`,
    state: 'making',
    ...{ reason: null, archive: null, setup: null, created_at: parts.clock.now(), ended_at: null },
  }
}

/** Readable, and another one for every project: many are called "api". */
function folderFor(project: string): string {
  const readable = basename(project)
    .replace(/[^\w.-]+/g, '-')
    .replace(/^[.-]+/, '')
    .slice(0, 40)
  return `${readable || 'project'}-${createHash('sha256').update(project).digest('hex').slice(0, 6)}`
}

async function addWorktree(row: Worktree, repository: Repository, parts: WorktreeParts): Promise<void> {
  await mkdir(dirname(row.top), { recursive: true, mode: 0o700 })
  const { branch } = repository
  // Somebody's branch of the same name, or that of an earlier attempt: what it holds is kept, then it begins anew.
  if (branch && branch.tip !== row.base) await keepCommit(row, branch.tip, repository.at)
  const flags = ['--no-track', existsSync(row.top) ? '-f' : '-q', branch ? '-B' : '-b']
  const added = await git(repository.at, ['worktree', 'add', ...flags, row.branch, row.top, row.base], {
    timeoutMs: 10 * 60_000,
  })
  if (added.ok) return
  await parts.store.worktrees.update(row, { state: 'removed', reason: told(added.stderr), ended_at: parts.clock.now() })
  throw refusal(row, { why: told(added.stderr), remedy: 'Mend what git says, then try again.' })
}

function refusal(
  of: Pick<WantedPlace, 'task' | 'project'>,
  { why, remedy }: { why: string; remedy: string },
): AppError {
  return new AppError('place_refused', { task: of.task, project: of.project, why, remedy })
}
