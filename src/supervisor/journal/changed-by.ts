import { existsSync } from 'node:fs'
import type { AttemptRow } from '../../store/runs/rows.ts'
import type { Store } from '../../store/store.ts'
import type { SessionRow } from '../../store/tables.ts'
import { changedBetween } from '../../workspace/changes/changed-between.ts'
import { changedSince } from '../../workspace/changes/changed-since.ts'

/** What an attempt changed, as git has it: in its worktree, or by the merge after which that was removed, or in the project since it began. */
export async function changedBy(
  { attempt, session }: { attempt: AttemptRow; session: SessionRow },
  { merges }: Pick<Store, 'merges'>,
): Promise<string[] | undefined> {
  const { place } = session.options
  if (!place) return changedSince(session.project, attempt.started_at)
  const landed = (await merges.list({ task: place.task })).findLast(row => row.attempt === place.attempt && row.result)
  if (landed?.base && landed.result) return changedBetween(session.project, { base: landed.base, head: landed.result })
  return existsSync(place.directory) ? changedBetween(place.directory, { base: place.base }) : undefined
}
