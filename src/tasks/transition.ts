import { AppError } from '../base/errors.ts'
import { isPlanted } from '../base/planted.ts'
import type { NewEvent } from '../domain/event.ts'
import { TASK_MOVES, type Task, type TaskState } from '../domain/task.ts'
import type { TxParts } from './parts.ts'

/** Where a task goes. */
export interface Move {
  to: TaskState
  /** Why, for the person. A task that has no reason to be where it is loses the one it had. */
  reason?: string | undefined
  /** The agent's last words about it. */
  result?: string | undefined
  /** When a waiting one goes on by itself. */
  wakesAt?: number | undefined
  /** The attempt the caller holds: an older one is refused. */
  attempt?: number | undefined
  /** It is taken away from whoever holds it: what they still say of their attempt counts for nothing. */
  anew?: boolean | undefined
  /** Who caused it: `daemon` where nothing is said. */
  actor?: string | undefined
}

/** Last words are read by people and by the tasks that come after: enough for a summary, too little to fill a prompt. */
const MAX_RESULT = 4_000
const MAX_REASON = 1_000

/** Moves a task and everything that depends on it, with the events that tell of it, in the caller's transaction. */
export async function transition(id: string, move: Move, parts: TxParts): Promise<Task> {
  const task = await parts.store.tasks.get(id, parts.tx)
  if (!task) throw new AppError('task_unknown', { session: '–', ref: id, known: 'no task with that id' })
  if (move.attempt !== undefined && move.attempt !== task.attempt) throw movedError(task)
  return moveTask(task, move, parts)
}

/** The same for a task that was read in this transaction. */
export async function moveTask(task: Task, move: Move, parts: TxParts): Promise<Task> {
  if (!TASK_MOVES[task.state].includes(move.to)) throw refusal(task, move.to)
  const moved = await write(task, move, parts)
  await tellDependents(task, moved, parts)
  return moved
}

async function write(task: Task, move: Move, { store, clock, tx }: TxParts): Promise<Task> {
  const moved = await store.tasks.swap(task, columns(task, move, clock.now()), tx)
  if (!moved) throw movedError((await store.tasks.get(task.id, tx)) ?? task)
  await tx.append([eventOf(task, moved, move.actor ?? 'daemon')])
  if (isPlanted('double-ending') && isOver(move.to)) await tx.append([eventOf(task, moved, 'daemon')])
  return moved
}

/** A claim begins a new attempt; one that goes on after a wait is the same, unless it was taken away. */
function columns(task: Task, { to, reason, result, wakesAt, anew }: Move, now: number): Partial<Task> {
  const claimed = to === 'running' && task.state === 'ready'
  return {
    state: to,
    reason: reason === undefined ? null : capped(reason, MAX_REASON),
    wakes_at: to === 'waiting' ? (wakesAt ?? null) : null,
    ended_at: isOver(to) ? now : null,
    ...(anew && { attempt: task.attempt + 1 }),
    ...(claimed && { attempt: task.attempt + 1, started_at: task.started_at ?? now }),
    ...(result !== undefined && { result: capped(result, MAX_RESULT) }),
  }
}

/** What comes after it becomes ready with the last one done; a failed or cancelled one is named as what stands in the way. */
async function tellDependents(before: Task, task: Task, parts: TxParts): Promise<void> {
  const reopened = before.state === 'failed' && task.state === 'ready'
  if (!isOver(task.state) && !reopened) return
  const { store, tx } = parts
  for (const dependent of await store.tasks.dependentsOf(task.id, tx)) {
    if (dependent.state !== 'blocked') continue
    if (task.state === 'done') await unblock(dependent, parts)
    else if (reopened) await store.tasks.swap(dependent, { reason: await otherInTheWay(dependent, parts) }, tx)
    else {
      const held = await store.tasks.swap(dependent, { reason: inTheWay(task) }, tx)
      if (held) await tx.append([eventOf(dependent, held, 'daemon')])
    }
  }
}

async function otherInTheWay({ id }: Task, { store, tx }: TxParts): Promise<string | null> {
  for (const { blocker_id } of await store.tasks.blockersOf([id], tx)) {
    const blocker = await store.tasks.get(blocker_id, tx)
    if (blocker?.state === 'failed' || blocker?.state === 'cancelled') return inTheWay(blocker)
  }
  return null
}

async function unblock(dependent: Task, parts: TxParts): Promise<void> {
  const { store, tx } = parts
  const left = dependent.open_blockers - 1
  const counted = await store.tasks.swap(dependent, { open_blockers: left }, tx)
  if (counted && left === 0) await moveTask(counted, { to: 'ready' }, parts)
}

/** Why a task cannot run that comes after one which will not be done. */
export function inTheWay({ id, title, state }: Task): string {
  return `comes after ${id} (${title}), which ${state === 'failed' ? 'failed' : 'was cancelled'}`
}

const KINDS = {
  blocked: 'task.blocked',
  ready: 'task.readied',
  running: 'task.started',
  waiting: 'task.waiting',
  verifying: 'task.verifying',
  merging: 'task.merging',
  done: 'task.finished',
  failed: 'task.failed',
  cancelled: 'task.cancelled',
} as const satisfies Record<TaskState, NewEvent['kind']>

function eventOf(before: Task, task: Task, actor: string): NewEvent {
  const { state, reason, result, wakes_at } = task
  const body = {
    task_id: task.id,
    title: task.title,
    from: before.state,
    attempt: task.attempt,
    ...(reason !== null && { reason }),
    ...(state === 'waiting' && wakes_at !== null && { wakes_at }),
    ...((state === 'done' || state === 'failed') && result !== null && { result }),
  }
  return { actor, subject: task.session_id ?? task.id, kind: KINDS[state], body }
}

function capped(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1).toWellFormed()}…` : text
}

function isOver(state: TaskState): boolean {
  return state === 'done' || state === 'failed' || state === 'cancelled'
}

function refusal(task: Task, to: TaskState): AppError {
  return new AppError('task_move_refused', { id: task.id, from: task.state, to, session: sessionOf(task) })
}

function movedError(task: Task): AppError {
  const { id, state, attempt } = task
  return new AppError('task_moved', { id, state, attempt, session: sessionOf(task) })
}

function sessionOf({ session_id }: Task): string {
  return session_id ?? ''
}
