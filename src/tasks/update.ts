import { AppError } from '../base/errors.ts'
import { isBegun, isOver, type Task } from '../domain/task.ts'
import type { UpdateTask } from '../domain/task-requests.ts'
import { findTask } from './find-task.ts'
import { setParent } from './graph.ts'
import { eventSubject, type Move, moveTask, type TasksTxDeps } from './transition.ts'
import { acceptanceColumn, labelsColumn, pathsColumn } from './view.ts'

/** Changes the fields of a task that a person may edit; its state is not among them. `only`: as in `findTask`. */
export async function updateTask(
  task: Task,
  { only, ...changes }: UpdateTask & { only?: boolean | undefined },
  deps: TasksTxDeps,
): Promise<Task> {
  const { store, tx } = deps
  const { parent, labels, acceptance, paths, budget, ...plain } = changes
  const patch: Partial<Task> = {
    ...(plain.title !== undefined && plain.description === undefined && followTitle(task, plain.title)),
    ...omitUndefined(plain),
    ...(labels && { labels: labelsColumn(labels) }),
    ...(acceptance && { acceptance: acceptanceColumn(acceptance) }),
    ...(paths && { paths: pathsColumn(paths) }),
    ...(budget !== undefined && { budget: budget === null ? null : JSON.stringify(budget) }),
  }
  const changed = Object.keys(patch).length === 0 ? task : ((await store.tasks.swap(task, patch, tx)) ?? task)
  if (parent !== undefined)
    await setParent(
      changed,
      parent === null ? undefined : await findTask(parent, store, { project: task.project, only, tx }),
      deps,
    )
  const fields = Object.keys(omitUndefined(changes))
  const body = { task_id: task.id, title: changed.title, fields }
  await tx.append([{ actor: 'human', subject: eventSubject(task), kind: 'task.updated', body }])
  return (await store.tasks.get(task.id, tx)) ?? changed
}

/** A description that begins with the title begins with the new title: an agent reads no other one. */
function followTitle({ title: before, description }: Task, title: string): Partial<Task> {
  const [first = '', ...rest] = description.split('\n')
  return first.trim() === before.trim() ? { description: [title, ...rest].join('\n') } : {}
}

function omitUndefined<T extends object>(values: T): { [Key in keyof T]: Exclude<T[Key], undefined> } {
  const kept = Object.entries(values).filter(([, value]) => value !== undefined)
  return Object.fromEntries(kept) as { [Key in keyof T]: Exclude<T[Key], undefined> }
}

/** The state that a person orders for a task. */
export interface ForcedState {
  to: 'done' | 'failed' | 'ready' | 'cancelled'
  reason?: string | undefined
}

/**
 * Sets the state that a person orders, whatever the current state is. A run that works on the task loses it: later reports of it
 * are refused. For a task with parts only `ready` and `cancelled` are possible, and apply to every part.
 */
export async function forceTask(task: Task, { to, reason }: ForcedState, deps: TasksTxDeps): Promise<Task> {
  if (task.children === 0) return forceOne(task, forcedMove(to, reason), deps)
  if (to === 'done' || to === 'failed') throw new AppError('task_has_parts', { id: task.id, parts: task.children })
  const leaves = (await deps.store.tasks.list({ under: task.id }, deps.tx)).filter(({ children }) => children === 0)
  const affected = leaves.filter(leaf => (to === 'ready' ? isOver(leaf.state) || isBegun(leaf) : canCancel(leaf)))
  for (const leaf of affected) {
    // Moving another leaf may have changed this one.
    const now = await deps.store.tasks.get(leaf.id, deps.tx)
    if (now) await forceOne(now, forcedMove(to, reason), deps)
  }
  return (await deps.store.tasks.get(task.id, deps.tx)) ?? task
}

function forcedMove(to: ForcedState['to'], reason: string | undefined): Move {
  return { to, forced: to !== 'cancelled', actor: 'human', ...(reason !== undefined && { reason }) }
}

async function forceOne(task: Task, move: Move, deps: TasksTxDeps): Promise<Task> {
  const isAlreadySo = task.state === move.to || (move.to === 'ready' && task.state === 'blocked')
  if (isAlreadySo) return task
  const session = task.run_id === null ? task.session_id : null
  if (session !== null && isBegun(task)) throw new AppError('task_at_work', { id: task.id, session })
  const reason = move.to === 'done' ? await nameUnmerged(task, move.reason, deps) : move.reason
  const moved = await moveTask(task, { ...move, reason, anew: isBegun(task) }, deps)
  const why = { reason: `a person set the task to ${move.to}`, at: deps.clock.now() }
  // The agent of finished work is gone, so nothing else ends the question about that work.
  const isFinished = task.state === 'verifying' || task.state === 'merging'
  if (isFinished && task.session_id) await deps.store.escalations.withdraw(task.session_id, why, deps.tx)
  if (move.to !== 'ready') return moved
  // Whether the task needs what was refused earlier shows when it is done anew.
  await deps.store.escalations.withdrawRefused(task.id, why, deps.tx)
  return (await deps.store.tasks.swap(moved, { retries: 0, result: null }, deps.tx)) ?? moved
}

/**
 * The reason of a task that a person calls done, with where its work is if that is in no branch of theirs. Work that waits for its merge
 * is not taken out of the queue by that: it is refused, because the person wants the work in.
 */
async function nameUnmerged(
  { id, state }: Task,
  reason: string | undefined,
  { store, tx }: TasksTxDeps,
): Promise<string | undefined> {
  const merge = state === 'merging' ? await store.merges.open(id, tx) : undefined
  if (merge) {
    const next =
      merge.state === 'review'
        ? `Let it in with: pcc review ${id} --approve.`
        : 'It is done by itself as soon as it is merged; see: pcc merge list.'
    throw new AppError('task_merging', { id, target: merge.target, why: merge.reason ? `: ${merge.reason}` : '', next })
  }
  const [worktree] = await store.worktrees.list({ task: id, states: ['live'] }, tx)
  const landed = await store.merges.list({ task: id, states: ['merged', 'proposed'] }, tx)
  if (!worktree || landed.some(({ attempt }) => attempt === worktree.attempt)) return reason
  const isFinished = state === 'verifying' || state === 'merging'
  const take = isFinished ? `; take it with: git merge ${worktree.branch}` : ''
  const where = `its work is not merged: see it with pcc diff ${id}${take}`
  return reason === undefined ? where : `${reason}; ${where}`
}

function canCancel({ state }: Task): boolean {
  return state !== 'done' && state !== 'cancelled'
}
