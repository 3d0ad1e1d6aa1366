import { crashPoint } from '../../../base/crash-point.ts'
import { AppError } from '../../../base/errors.ts'
import type { Merge } from '../../../domain/workspace/merge.ts'
import type { MergeParts } from '../parts.ts'
import { changeWithin } from '../rows.ts'
import { moveTarget } from '../target/move-target.ts'
import { backToQueue, finish, holdUp, refuse } from './endings.ts'
import type { Prepared } from './prepare.ts'

/**
 * `landed`: so many are in the target. `settled`: one of them is with somebody else now, and the queue goes on. `red`: so many
 * together do not pass, and each of them waits again. `waits`: nothing goes on before something outside changes.
 */
export type Tried = { kind: 'landed' | 'red'; count: number } | { kind: 'settled' | 'again' } | { kind: 'waits' }

/** Moves the target to work that is verified on top of it. The intent is written first, and git alone says whether it happened. */
export async function land(rows: readonly Prepared[], tip: string, parts: MergeParts): Promise<Tried> {
  const last = rows.at(-1)
  if (!last) return { kind: 'again' }
  const { repository, target } = last.merge
  const move = { repository, target, from: tip, to: last.result, message: messageOf(rows) }
  const intent = await intend(rows, parts)
  if (intent.kind === 'stale') {
    await refuse(intent.merge, 'a newer attempt at the task has begun, or the task is over', parts)
    await backToQueue(others(rows, intent.merge), 'one that it was tried with has gone', parts)
    return { kind: 'again' }
  }
  crashPoint('merge.before-ref')
  const moved = await moveTarget(move)
  crashPoint('merge.after-ref')
  if (moved.kind === 'moved') {
    await finish(intent.rows, parts)
    return { kind: 'landed', count: rows.length }
  }
  if (moved.kind === 'blocked') return wait(intent.rows, moved.why, parts)
  await backToQueue(mergesOf(intent.rows), `${target} has moved meanwhile`, parts)
  return { kind: 'again' }
}

type Intent = { kind: 'written'; rows: Prepared[] } | { kind: 'stale'; merge: Merge }

/** Whether each attempt still counts is asked in the very transaction that says they land. */
export function intend(rows: readonly Prepared[], parts: MergeParts): Promise<Intent> {
  return parts.store.transaction(async (tx): Promise<Intent> => {
    for (const { merge } of rows) if (await parts.isStale(merge, tx)) return { kind: 'stale', merge }
    const written: Prepared[] = []
    for (const row of rows) {
      const merge = await changeWithin(row.merge, { state: 'landing' }, parts, tx)
      if (!merge) throw new AppError('merge_moved', { id: row.merge.id })
      written.push({ ...row, merge })
    }
    return { kind: 'written', rows: written }
  })
}

async function wait(rows: readonly Prepared[], why: string, parts: MergeParts): Promise<Tried> {
  for (const { merge } of rows) await holdUp(merge, why, parts)
  return { kind: 'waits' }
}

function mergesOf(rows: readonly Prepared[]): Merge[] {
  return rows.map(({ merge }) => merge)
}

function others(rows: readonly Prepared[], one: Merge): Merge[] {
  return mergesOf(rows).filter(({ id }) => id !== one.id)
}

function messageOf(rows: readonly Prepared[]): string {
  return `pcc: merge ${rows.map(({ merge }) => merge.task_id).join(', ')}`
}
