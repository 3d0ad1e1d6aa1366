import { crashPoint } from '../../../base/crash-point.ts'
import type { Conflict, Merge } from '../../../domain/workspace/merge.ts'
import type { Place } from '../../../domain/workspace/place.ts'
import { committer } from '../../git/committer.ts'
import { noteBases } from '../../worktrees/notes/shared-files.ts'
import type { MergeParts } from '../parts.ts'
import { workplaceOf } from '../place-of-merge.ts'
import { ask, isWithin } from '../refs.ts'
import { changeRow } from '../rows.ts'
import { bringOnto } from '../work/bring-onto.ts'
import { restoreWork } from '../work/restore.ts'
import { keepVerified } from '../work/verified-work.ts'

/** A merge whose work lies on the commit that it is to follow. */
export interface Prepared {
  merge: Merge
  place: Place
  result: string
}

export type Preparation =
  | ({ kind: 'ready' } & Prepared)
  | { kind: 'conflict'; merge: Merge; place: Place; conflict: Conflict }
  | { kind: 'broken'; merge: Merge; why: string }
  /** Somebody else has the row. */
  | { kind: 'lost' }

/** Puts the work of a merge onto a commit: the intent is written down, then the worktree is as verified, then git works. */
export async function prepare(
  queued: Merge,
  { onto, tip }: { onto: string; tip: string },
  parts: MergeParts,
): Promise<Preparation> {
  const place = await workplaceOf(queued, parts)
  const { head } = queued
  if (!place || head === null) {
    const why = `the worktree of ${queued.branch} is gone; bring it back with: pcc worktree restore ${queued.task_id}`
    return { kind: 'broken', merge: queued, why }
  }
  const common = await ask(queued.repository, ['merge-base', onto, head])
  const base = queued.base ?? (await baseOf(queued.repository, { head, place, common }))
  const merge = await changeRow(queued, { state: 'rebasing', base, result: null, reason: null }, parts)
  if (!merge) return { kind: 'lost' }
  crashPoint('merge.after-intent')
  const why = await restoreWork(merge, place, queued.result)
  if (why !== undefined) return { kind: 'broken', merge, why }
  await noteBases(place.top, [tip, onto])
  const title = await titleOf(merge, parts)
  const who = await committer(merge.repository)
  const brought = await bringOnto({
    merge: { ...merge, head, base },
    place,
    onto,
    isOnTop: common === onto,
    title,
    who,
  })
  crashPoint('merge.after-rebase')
  switch (brought.kind) {
    case 'conflict':
      // Its agent goes on from here in other commits.
      await keepVerified(merge.repository, merge.task_id, head)
      return { kind: 'conflict', merge, place, conflict: brought.conflict }
    case 'broken':
      return { kind: 'broken', merge, why: brought.why }
    case 'ready':
      // What was verified stays, even where the target gets it in another form.
      if (brought.result !== head && merge.strategy !== 'merge') {
        await keepVerified(merge.repository, merge.task_id, head)
      }
      return { kind: 'ready', merge, place, result: brought.result }
  }
}

/**
 * From where on the commits are its own. That is where it left the target, unless the target was taken back since: then it is
 * the commit from which the worktree was made, or the person's old commits would come back with it.
 */
async function baseOf(
  repository: string,
  { head, place, common }: { head: string; place: Place; common: string | undefined },
): Promise<string> {
  if (common === undefined) return place.base
  const isTakenBack = common !== place.base && (await isWithin(repository, common, place.base))
  return isTakenBack && (await isWithin(repository, place.base, head)) ? place.base : common
}

/** The task in one line. */
export async function titleOf({ task_id }: Merge, { store }: MergeParts): Promise<string> {
  const title = (await store.tasks.get(task_id))?.title ?? task_id
  const [line = task_id] = title.split('\n')
  return line.length > MOST ? `${line.slice(0, MOST - 1)}…` : line
}

const MOST = 72
