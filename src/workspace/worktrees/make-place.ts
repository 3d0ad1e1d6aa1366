import { join } from 'node:path'
import { crashPoint } from '../../base/crash-point.ts'
import type { Place, Worktree } from '../../domain/workspace/place.ts'
import { addWorktree } from './add-worktree.ts'
import { checkGround } from './check-ground.ts'
import { folderFor } from './folder-for.ts'
import { mend } from './genuine.ts'
import { restoreRow } from './gone/restore.ts'
import type { WorktreeParts } from './parts.ts'
import { placeOf } from './place-of.ts'
import { getReady } from './ready/get-ready.ts'
import { refusal } from './refusal.ts'
import { removePlace } from './remove-place.ts'
import { lookAt, type Repository } from './repository.ts'

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
  await checkGround(row, look.repository, parts)
  await parts.store.worktrees.put(row)
  crashPoint('place.before-add')
  const reason = await addWorktree(row, look.repository, parts)
  crashPoint('place.after-add')
  const setup = await getReady(row, parts)
  await parts.store.worktrees.update(row, { state: 'live', reason, setup })
  return placeOf(row)
}

/** What there is of the task already: this attempt's own is gone on with, an older one's is put away first. */
async function settleRows(wanted: WantedPlace, parts: WorktreeParts): Promise<Place | undefined> {
  const rows = await parts.store.worktrees.list({ task: wanted.task })
  const there = rows.filter(({ state }) => state === 'making' || state === 'live')
  const newer = there.find(({ attempt }) => attempt > wanted.attempt)
  if (newer) {
    const why = `attempt ${newer.attempt} has it, and this is attempt ${wanted.attempt}`
    throw refusal(wanted, { why, remedy: `Look at it with: pcc worktree show ${wanted.task}` })
  }
  const mine = rows.find(({ attempt }) => attempt === wanted.attempt)
  if (mine?.state === 'live' && (await mend(mine))) return placeOf(mine)
  for (const row of there) {
    const removal = await removePlace(placeOf(row), parts)
    if (removal.kind !== 'kept') continue
    const remedy = `See it with: pcc worktree show ${wanted.task}. It is in ${row.top}`
    throw refusal(wanted, { why: `that of attempt ${row.attempt} cannot be put away: ${removal.why}`, remedy })
  }
  // Its directory was deleted, or it was archived: what it had done so far comes back.
  const now = mine && (await parts.store.worktrees.get(mine))
  return now?.state === 'archived' ? restoreRow(now, parts) : undefined
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
