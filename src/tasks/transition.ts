import type { Clock } from '../base/clock.ts'
import { AppError } from '../base/errors.ts'
import type { NewEvent } from '../domain/event.ts'
import {
  FORCED_MOVES,
  isOver,
  nextAttemptOf,
  type OverState,
  PARENT_MOVES,
  TASK_MOVES,
  type Task,
  type TaskState,
  type Verification,
} from '../domain/task.ts'
import type { Store, Tx } from '../store/store.ts'

/** The store of the tasks, and the clock for their times. */
export interface TasksDeps {
  store: Store
  clock: Clock
}

/** `TasksDeps` inside an open transaction. */
export interface TasksTxDeps extends TasksDeps {
  tx: Tx
}

/** A change of a task's state. */
export interface Move {
  to: TaskState
  /** Why, for the person. Without one, the task loses its earlier reason. */
  reason?: string | undefined
  /** The agent's last message about the task. */
  result?: string | undefined
  /** When a waiting task continues by itself. */
  wakesAt?: number | undefined
  /** The attempt that the caller holds: an outdated one is refused. */
  attempt?: number | undefined
  /** The task is taken away from its holder: a new attempt begins, and reports of the old one are refused. */
  anew?: boolean | undefined
  /** The result of the gates. A task that is done by its agent's word alone is `unverified`. */
  verification?: Verification | undefined
  /** The task goes back because its attempt failed: the retry is counted. */
  retry?: boolean | undefined
  /** The claim of a run: who holds the task, and in which session. */
  lease?: { owner: string; run: string; session?: string | undefined } | undefined
  /** A person orders it, whatever the state of the task is. */
  forced?: boolean | undefined
  /** Who caused the change: `daemon` by default. */
  actor?: string | undefined
}

/** People and later tasks read the last message: enough for a summary, too little to fill a prompt. */
const MAX_RESULT = 4_000
const MAX_REASON = 1_000

/** The columns that a move changes. A claim begins a new attempt; a wait does not. A task that is taken away has the number of its next one. */
function columnsForMove(task: Task, move: Move, now: number): Partial<Task> {
  const { to, reason, result, wakesAt, anew, retry } = move
  const isClaimed = to === 'running' && task.state === 'ready'
  return {
    state: to,
    reason: reason === undefined ? null : truncate(reason, MAX_REASON),
    wakes_at: to === 'waiting' ? (wakesAt ?? null) : null,
    ended_at: isOver(to) ? now : null,
    verification: verificationAfterMove(move),
    ...ownerAfterMove(task, move),
    ...(isClaimed && { attempt: nextAttemptOf(task) }),
    ...(anew && { attempt: task.attempt + 1, started_at: to === 'done' ? task.started_at : null }),
    ...(isClaimed && { started_at: task.started_at ?? now }),
    ...(retry && { retries: task.retries + 1 }),
    ...(result !== undefined && { result: truncate(result, MAX_RESULT) }),
  }
}

function verificationAfterMove({ to, verification, forced }: Move): Verification | null {
  if (verification !== undefined) return verification
  return to === 'done' && !forced ? 'unverified' : null
}

/** A task that a run gives back has no owner; of a task that is over, run and session stay known. */
function ownerAfterMove(task: Task, { to, lease }: Move): Partial<Task> {
  if (lease) return { lease_owner: lease.owner, run_id: lease.run, session_id: lease.session ?? task.session_id }
  if (isOver(to)) return { lease_owner: null }
  if (to === 'ready' || to === 'blocked')
    return task.run_id === null ? {} : { lease_owner: null, run_id: null, session_id: null }
  return {}
}

function truncate(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1).toWellFormed()}…` : text
}

/** Moves a task and everything that depends on it, with the events for it, in the caller's transaction. */
export async function transition(id: string, move: Move, deps: TasksTxDeps): Promise<Task> {
  const task = await deps.store.tasks.get(id, deps.tx)
  if (!task) throw new AppError('task_not_there', { ref: id })
  if (move.attempt !== undefined && move.attempt !== task.attempt) throw movedError(task)
  return moveTask(task, move, deps)
}

/** `transition` for a task that was read in this transaction. */
export async function moveTask(task: Task, move: Move, deps: TasksTxDeps): Promise<Task> {
  const moves = move.forced ? FORCED_MOVES : TASK_MOVES
  if (task.children > 0) throw new AppError('task_has_parts', { id: task.id, parts: task.children })
  if (!moves[task.state].includes(move.to)) throw moveRefused(task, move.to)
  // A blocker of the task may have been reopened while somebody worked on the task.
  const isBlocked = move.to === 'ready' && task.open_blockers > 0
  const moved = await writeMove(task, isBlocked ? await asBlocked(task, move, deps) : move, deps)
  await propagateMove(task, moved, deps)
  return moved
}

async function asBlocked(task: Task, move: Move, deps: TasksTxDeps): Promise<Move> {
  return { ...move, to: 'blocked', reason: (await findBlockedReason(task, deps)) ?? move.reason }
}

function moveRefused({ id, state }: Task, to: TaskState): AppError {
  return new AppError('task_move_refused', { id, from: state, to })
}

/** Writes a move and its event, without its consequences for other tasks. `also` is written with it. */
async function writeMove(task: Task, move: Move, deps: TasksTxDeps, also: Partial<Task> = {}): Promise<Task> {
  const { store, clock, tx } = deps
  const moved = await store.tasks.swap(task, { ...columnsForMove(task, move, clock.now()), ...also }, tx)
  if (!moved) throw movedError((await store.tasks.get(task.id, tx)) ?? task)
  await appendMoveEvent(task, moved, deps, move.actor)
  return moved
}

/** Appends the event that says into which state a task came, and from which. */
async function appendMoveEvent(before: Task, task: Task, { tx }: TasksTxDeps, actor = 'daemon'): Promise<void> {
  const { state, reason, result, wakes_at } = task
  const body = {
    task_id: task.id,
    title: task.title,
    from: before.state,
    attempt: task.attempt,
    ...(reason !== null && { reason }),
    ...(state === 'waiting' && wakes_at !== null && { wakes_at }),
    ...((state === 'done' || state === 'failed') && result !== null && { result }),
    ...(state === 'done' && task.verification !== null && { verification: task.verification }),
  }
  await tx.append([{ actor, subject: eventSubject(task), kind: EVENT_OF_STATE[state], body }])
}

/** The subject of a task's events: the session for a task of a session's own queue, otherwise the task. */
export function eventSubject({ id, session_id, run_id }: Pick<Task, 'id' | 'session_id' | 'run_id'>): string {
  return run_id === null ? (session_id ?? id) : id
}

/** The error for a task that somebody else has moved since it was read, or holds. */
function movedError({ id, state, attempt, session_id }: Task): AppError {
  return new AppError('task_moved', { id, state, attempt, session: session_id ?? '' })
}

const EVENT_OF_STATE = {
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

/**
 * Applies the consequences of a move, in its transaction. Tasks that come after it count their open blockers, and are ready when
 * the last one is done. Its parent counts its parts, and is done with the last part or failed with one. Either may be a move with
 * consequences of its own.
 */
async function propagateMove(before: Task, after: Task, deps: TasksTxDeps): Promise<void> {
  await updateDependents(before, after, deps)
  const [from, to] = [partStateOf(before.state), partStateOf(after.state)]
  if (after.parent_id === null || from === to) return
  await countPart(after.parent_id, { [from]: -1, [to]: 1 }, deps, after)
}

/** How a task counts one of its parts. */
export type PartState = 'open' | OverState

/** How a part in this state is counted. */
export function partStateOf(state: TaskState): PartState {
  return isOver(state) ? state : 'open'
}

/** Changes how many parts a task counts, and its state accordingly. `cause` is the part that caused it. */
export async function countPart(
  id: string,
  change: Partial<Record<PartState, number>> & { parts?: number },
  deps: TasksTxDeps,
  cause?: Task,
): Promise<void> {
  const task = await deps.store.tasks.get(id, deps.tx)
  if (!task) return
  const counts = {
    children: task.children + (change.parts ?? 0),
    children_open: task.children_open + (change.open ?? 0),
    children_failed: task.children_failed + (change.failed ?? 0),
    children_done: task.children_done + (change.done ?? 0),
  }
  const to = stateFromParts({ ...task, ...counts })
  if (to === task.state) {
    await deps.store.tasks.swap(task, counts, deps.tx)
    return
  }
  if (!PARENT_MOVES[task.state].includes(to)) throw new AppError('task_move_refused', { id, from: task.state, to })
  const reason = to === 'blocked' ? ((await findBlockedReason(task, deps)) ?? undefined) : failureReason(to, cause)
  const verification = to === 'done' ? await verificationFromParts(id, deps) : undefined
  const moved = await writeMove(task, { to, reason, verification, forced: true }, deps, counts)
  await propagateMove(task, moved, deps)
}

function failureReason(to: TaskState, cause: Task | undefined): string | undefined {
  return to === 'failed' && cause ? `its part ${cause.id} (${cause.title}) failed` : undefined
}

/** Counts one more, or one less, open blocker of a task. The parts of a blocked task are blocked with it. */
export async function changeOpenBlockers(task: Task, more: 1 | -1, deps: TasksTxDeps, reason?: string): Promise<void> {
  const { store, tx } = deps
  const counted = { open_blockers: task.open_blockers + more }
  const isBlocked = counted.open_blockers > 0
  if (task.children > 0) {
    await store.tasks.swap(task, { ...counted, ...(task.state === 'blocked' && reason && { reason }) }, tx)
    if (isBlocked === task.open_blockers > 0) return
    for (const part of await store.tasks.childrenOf([task.id], tx)) await changeOpenBlockers(part, more, deps)
  } else if (task.state === 'blocked' && !isBlocked) await writeMove(task, { to: 'ready' }, deps, counted)
  else if (task.state === 'ready' && isBlocked) await writeMove(task, { to: 'blocked', reason }, deps, counted)
  else await store.tasks.swap(task, { ...counted, ...(task.state === 'blocked' && reason && { reason }) }, tx)
}

/** Why a task cannot run that comes after this one; undefined if this one can still be done. */
export function reasonBlockedBy({ id, title, state }: Task): string | undefined {
  if (state !== 'failed' && state !== 'cancelled') return undefined
  return `comes after ${id} (${title}), which ${state === 'failed' ? 'failed' : 'was cancelled'}`
}

/** Names a failed or cancelled blocker as the reason of its dependents, and removes that reason when the blocker continues. */
async function updateDependents(before: Task, after: Task, deps: TasksTxDeps): Promise<void> {
  const { store, tx } = deps
  const change = Number(before.state === 'done') - Number(after.state === 'done')
  const hadReason = reasonBlockedBy(before) !== undefined
  const reason = reasonBlockedBy(after)
  if (change === 0 && !hadReason && !reason) return
  for (const row of await store.tasks.dependentsOf(after.id, tx)) {
    // The parent of the dependent may come after the same task, and have changed the dependent just now.
    const dependent = row.parent_id === null ? row : ((await store.tasks.get(row.id, tx)) ?? row)
    if (change !== 0) await changeOpenBlockers(dependent, change as 1 | -1, deps, reason)
    if (!hadReason && (!reason || change !== 0)) continue
    const now = change === 0 ? dependent : await store.tasks.get(dependent.id, tx)
    if (now?.state !== 'blocked') continue
    const updated = await store.tasks.swap(now, { reason: reason ?? (await findBlockedReason(now, deps)) }, tx)
    if (updated && reason && change === 0) await appendMoveEvent(now, updated, deps)
  }
}

/** Names the first blocker of a task that will not be done, if there is one. */
export async function findBlockedReason({ id }: Task, { store, tx }: TasksTxDeps): Promise<string | null> {
  for (const { blocker_id } of await store.tasks.blockersOf([id], tx)) {
    const blocker = await store.tasks.get(blocker_id, tx)
    const reason = blocker && reasonBlockedBy(blocker)
    if (reason) return reason
  }
  return null
}

function stateFromParts(task: Task): TaskState {
  if (task.children === 0) return task.open_blockers > 0 ? 'blocked' : 'ready'
  if (task.children_failed > 0) return 'failed'
  if (task.children_open > 0) return 'blocked'
  return task.children_done > 0 ? 'done' : 'cancelled'
}

/** A task with parts is verified no better than its parts. */
async function verificationFromParts(id: string, { store, tx }: TasksTxDeps) {
  const parts = await store.tasks.childrenOf([id], tx)
  const verifications = parts.map(({ verification }) => verification)
  if (verifications.includes('unverified')) return 'unverified'
  return verifications.includes('passed') ? 'passed' : undefined
}
