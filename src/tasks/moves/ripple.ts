import { AppError } from '../../base/errors.ts'
import { PARENT_MOVES, type Task, type TaskState } from '../../domain/task.ts'
import type { TxParts } from '../parts.ts'
import { tell, write } from './write.ts'

/**
 * What follows from a move, in its transaction. What comes after a task counts it as open or not, and is ready with the last
 * one done. What it is a part of counts it too, and is done with the last part or failed with one. Either may be a move again.
 */
export async function ripple(before: Task, after: Task, parts: TxParts): Promise<void> {
  await tellDependents(before, after, parts)
  const [from, to] = [standing(before.state), standing(after.state)]
  if (after.parent_id === null || from === to) return
  await countPart(after.parent_id, { [from]: -1, [to]: 1 }, parts, after)
}

/** How a part is counted by the task that it belongs to. */
export type Standing = 'open' | 'failed' | 'done' | 'cancelled'

/** Which of the four a state is. */
export function standing(state: TaskState): Standing {
  return state === 'done' || state === 'failed' || state === 'cancelled' ? state : 'open'
}

/** Changes what a task counts of its parts, and its state with it. `cause` is the part that it follows. */
export async function countPart(
  id: string,
  change: Partial<Record<Standing, number>> & { parts?: number },
  parts: TxParts,
  cause?: Task,
): Promise<void> {
  const task = await parts.store.tasks.get(id, parts.tx)
  if (!task) return
  const counts = {
    children: task.children + (change.parts ?? 0),
    children_open: task.children_open + (change.open ?? 0),
    children_failed: task.children_failed + (change.failed ?? 0),
    children_done: task.children_done + (change.done ?? 0),
  }
  const to = stateOfParts({ ...task, ...counts })
  if (to === task.state) {
    await parts.store.tasks.swap(task, counts, parts.tx)
    return
  }
  if (!PARENT_MOVES[task.state].includes(to))
    throw new AppError('task_move_refused', { id, from: task.state, to, session: task.session_id ?? '' })
  const reason = to === 'blocked' ? ((await blockedBy(task, parts)) ?? undefined) : whyFailed(to, cause)
  const verification = to === 'done' ? await verificationOf(id, parts) : undefined
  const moved = await write(task, { to, reason, verification, forced: true }, parts, counts)
  await ripple(task, moved, parts)
}

function whyFailed(to: TaskState, cause: Task | undefined): string | undefined {
  return to === 'failed' && cause ? `its part ${cause.id} (${cause.title}) failed` : undefined
}

/** One more, or one less, stands before a task. Its parts are held up with it. */
export async function holdUp(task: Task, more: 1 | -1, parts: TxParts, reason?: string): Promise<void> {
  const { store, tx } = parts
  const counted = { open_blockers: task.open_blockers + more }
  const isHeldUp = counted.open_blockers > 0
  if (task.children > 0) {
    await store.tasks.swap(task, { ...counted, ...(task.state === 'blocked' && reason && { reason }) }, tx)
    if (isHeldUp === task.open_blockers > 0) return
    for (const part of await store.tasks.childrenOf([task.id], tx)) await holdUp(part, more, parts)
  } else if (task.state === 'blocked' && !isHeldUp) await write(task, { to: 'ready' }, parts, counted)
  else if (task.state === 'ready' && isHeldUp) await write(task, { to: 'blocked', reason }, parts, counted)
  else await store.tasks.swap(task, { ...counted, ...(task.state === 'blocked' && reason && { reason }) }, tx)
}

/** Why a task cannot run that comes after one which will not be done. */
export function inTheWay({ id, title, state }: Task): string | undefined {
  if (state !== 'failed' && state !== 'cancelled') return undefined
  return `comes after ${id} (${title}), which ${state === 'failed' ? 'failed' : 'was cancelled'}`
}

/** A failed or cancelled blocker is named as what stands in the way; one that goes on again no longer. */
async function tellDependents(before: Task, after: Task, parts: TxParts): Promise<void> {
  const { store, tx } = parts
  const change = Number(before.state === 'done') - Number(after.state === 'done')
  const stood = inTheWay(before) !== undefined
  const stands = inTheWay(after)
  if (change === 0 && !stood && !stands) return
  for (const found of await store.tasks.dependentsOf(after.id, tx)) {
    // What it is a part of may come after the same task, and have changed it just now.
    const dependent = found.parent_id === null ? found : ((await store.tasks.get(found.id, tx)) ?? found)
    if (change !== 0) await holdUp(dependent, change as 1 | -1, parts, stands)
    if (!stood && (!stands || change !== 0)) continue
    const now = change === 0 ? dependent : await store.tasks.get(dependent.id, tx)
    if (now?.state !== 'blocked') continue
    const held = await store.tasks.swap(now, { reason: stands ?? (await blockedBy(now, parts)) }, tx)
    if (held && stands && change === 0) await tell(now, held, parts)
  }
}

/** What a task comes after that will not be done, if there is one. */
export async function blockedBy({ id }: Task, { store, tx }: TxParts): Promise<string | null> {
  for (const { blocker_id } of await store.tasks.blockersOf([id], tx)) {
    const blocker = await store.tasks.get(blocker_id, tx)
    const reason = blocker && inTheWay(blocker)
    if (reason) return reason
  }
  return null
}

function stateOfParts(task: Task): TaskState {
  if (task.children === 0) return task.open_blockers > 0 ? 'blocked' : 'ready'
  if (task.children_failed > 0) return 'failed'
  if (task.children_open > 0) return 'blocked'
  return task.children_done > 0 ? 'done' : 'cancelled'
}

/** It is no better looked at than its parts. */
async function verificationOf(id: string, { store, tx }: TxParts) {
  const parts = await store.tasks.childrenOf([id], tx)
  const said = parts.map(({ verification }) => verification)
  if (said.includes('unverified')) return 'unverified'
  return said.includes('passed') ? 'passed' : undefined
}
