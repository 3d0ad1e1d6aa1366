import type { Clock } from '../base/clock.ts'
import { AppError } from '../base/errors.ts'
import type { NewEvent } from '../domain/event.ts'
import {
  AT_WORK,
  FORCED_MOVES,
  PARENT_MOVES,
  TASK_MOVES,
  type Task,
  type TaskState,
  type Verification,
} from '../domain/task.ts'
import type { Store, Tx } from '../store/store.ts'

/** What tasks are kept in, and the time that is written into them. */
export interface TasksDeps {
  store: Store
  clock: Clock
}

/** The same inside an open transaction. */
export interface TasksTxDeps extends TasksDeps {
  tx: Tx
}

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
  /** What the gates said of it. One that is done by its agent's word alone is `unverified`. */
  verification?: Verification | undefined
  /** It goes back because its attempt failed: one more retry is counted. */
  retry?: boolean | undefined
  /** A claim for a run: who holds it, and in which session. */
  lease?: { owner: string; run: string; session?: string | undefined } | undefined
  /** A person says so, whatever its state is. */
  forced?: boolean | undefined
  /** Who caused it: `daemon` where nothing is said. */
  actor?: string | undefined
}

/** Last words are read by people and by the tasks that come after: enough for a summary, too little to fill a prompt. */
const MAX_RESULT = 4_000
const MAX_REASON = 1_000

/** What a move writes. A claim begins a new attempt; one that goes on after a wait is the same, unless it was taken away. */
function columnsForMove(task: Task, move: Move, now: number): Partial<Task> {
  const { to, reason, result, wakesAt, anew, retry } = move
  const claimed = to === 'running' && task.state === 'ready'
  return {
    state: to,
    reason: reason === undefined ? null : capped(reason, MAX_REASON),
    wakes_at: to === 'waiting' ? (wakesAt ?? null) : null,
    ended_at: isOver(to) ? now : null,
    verification: verificationAfterMove(move),
    ...ownerAfterMove(task, move),
    ...((anew || claimed) && { attempt: task.attempt + 1 }),
    ...(claimed && { started_at: task.started_at ?? now }),
    ...(retry && { retries: task.retries + 1 }),
    ...(result !== undefined && { result: capped(result, MAX_RESULT) }),
  }
}

/** Nothing more will happen to it by itself. */
export function isOver(state: TaskState): boolean {
  return state === 'done' || state === 'failed' || state === 'cancelled'
}

/** Somebody has begun it and will go on. */
export function isHeld({ state }: Task): boolean {
  return state === 'waiting' || (AT_WORK as readonly TaskState[]).includes(state)
}

function verificationAfterMove({ to, verification, forced }: Move): Verification | null {
  if (verification !== undefined) return verification
  return to === 'done' && !forced ? 'unverified' : null
}

/** What a run gives back is nobody's again; of what is over it stays known who did it. */
function ownerAfterMove(task: Task, { to, lease }: Move): Partial<Task> {
  if (lease) return { lease_owner: lease.owner, run_id: lease.run, session_id: lease.session ?? task.session_id }
  if (isOver(to)) return { lease_owner: null }
  if (to === 'ready' || to === 'blocked')
    return task.run_id === null ? {} : { lease_owner: null, run_id: null, session_id: null }
  return {}
}

function capped(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1).toWellFormed()}…` : text
}

/** Moves a task and everything that depends on it, with the events that tell of it, in the caller's transaction. */
export async function transition(id: string, move: Move, deps: TasksTxDeps): Promise<Task> {
  const task = await deps.store.tasks.get(id, deps.tx)
  if (!task) throw new AppError('task_not_there', { ref: id })
  if (move.attempt !== undefined && move.attempt !== task.attempt) throw movedError(task)
  return moveTask(task, move, deps)
}

/** The same for a task that was read in this transaction. */
export async function moveTask(task: Task, move: Move, deps: TasksTxDeps): Promise<Task> {
  const moves = move.forced ? FORCED_MOVES : TASK_MOVES
  if (task.children > 0) throw new AppError('task_has_parts', { id: task.id, parts: task.children })
  if (!moves[task.state].includes(move.to)) throw moveRefused(task, move.to)
  // What it comes after may have been opened again while somebody worked on it.
  const isHeldUp = move.to === 'ready' && task.open_blockers > 0
  const moved = await write(task, isHeldUp ? await asBlocked(task, move, deps) : move, deps)
  await propagateMove(task, moved, deps)
  return moved
}

async function asBlocked(task: Task, move: Move, deps: TasksTxDeps): Promise<Move> {
  return { ...move, to: 'blocked', reason: (await findBlockedReason(task, deps)) ?? move.reason }
}

function moveRefused({ id, state, session_id }: Task, to: TaskState): AppError {
  return new AppError('task_move_refused', { id, from: state, to, session: session_id ?? '' })
}

/** Writes a move and the event that tells of it; nothing follows from it yet. `also` is written with it. */
async function write(task: Task, move: Move, deps: TasksTxDeps, also: Partial<Task> = {}): Promise<Task> {
  const { store, clock, tx } = deps
  const moved = await store.tasks.swap(task, { ...columnsForMove(task, move, clock.now()), ...also }, tx)
  if (!moved) throw movedError((await store.tasks.get(task.id, tx)) ?? task)
  await tell(task, moved, deps, move.actor)
  return moved
}

/** Appends the event that says into which state a task came, and from which. */
async function tell(before: Task, task: Task, { tx }: TasksTxDeps, actor = 'daemon'): Promise<void> {
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

/** What is told of the task of a session's own queue belongs to the session; of any other, to the task. */
export function eventSubject({ id, session_id, run_id }: Pick<Task, 'id' | 'session_id' | 'run_id'>): string {
  return run_id === null ? (session_id ?? id) : id
}

/** Somebody else has moved it since it was read, or holds it. */
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
 * What follows from a move, in its transaction. What comes after a task counts it as open or not, and is ready with the last
 * one done. What it is a part of counts it too, and is done with the last part or failed with one. Either may be a move again.
 */
async function propagateMove(before: Task, after: Task, deps: TasksTxDeps): Promise<void> {
  await updateDependents(before, after, deps)
  const [from, to] = [partStateOf(before.state), partStateOf(after.state)]
  if (after.parent_id === null || from === to) return
  await countPart(after.parent_id, { [from]: -1, [to]: 1 }, deps, after)
}

/** How a part is counted by the task that it belongs to. */
export type PartState = 'open' | 'failed' | 'done' | 'cancelled'

/** Which of the four a state is. */
export function partStateOf(state: TaskState): PartState {
  return state === 'done' || state === 'failed' || state === 'cancelled' ? state : 'open'
}

/** Changes what a task counts of its parts, and its state with it. `cause` is the part that it follows. */
export async function countPart(
  id: string,
  change: Partial<Record<PartState, number>> & { deps?: number },
  deps: TasksTxDeps,
  cause?: Task,
): Promise<void> {
  const task = await deps.store.tasks.get(id, deps.tx)
  if (!task) return
  const counts = {
    children: task.children + (change.deps ?? 0),
    children_open: task.children_open + (change.open ?? 0),
    children_failed: task.children_failed + (change.failed ?? 0),
    children_done: task.children_done + (change.done ?? 0),
  }
  const to = stateFromParts({ ...task, ...counts })
  if (to === task.state) {
    await deps.store.tasks.swap(task, counts, deps.tx)
    return
  }
  if (!PARENT_MOVES[task.state].includes(to))
    throw new AppError('task_move_refused', { id, from: task.state, to, session: task.session_id ?? '' })
  const reason = to === 'blocked' ? ((await findBlockedReason(task, deps)) ?? undefined) : failureReason(to, cause)
  const verification = to === 'done' ? await verificationFromParts(id, deps) : undefined
  const moved = await write(task, { to, reason, verification, forced: true }, deps, counts)
  await propagateMove(task, moved, deps)
}

function failureReason(to: TaskState, cause: Task | undefined): string | undefined {
  return to === 'failed' && cause ? `its part ${cause.id} (${cause.title}) failed` : undefined
}

/** One more, or one less, stands before a task. Its parts are held up with it. */
export async function changeOpenBlockers(task: Task, more: 1 | -1, deps: TasksTxDeps, reason?: string): Promise<void> {
  const { store, tx } = deps
  const counted = { open_blockers: task.open_blockers + more }
  const isHeldUp = counted.open_blockers > 0
  if (task.children > 0) {
    await store.tasks.swap(task, { ...counted, ...(task.state === 'blocked' && reason && { reason }) }, tx)
    if (isHeldUp === task.open_blockers > 0) return
    for (const part of await store.tasks.childrenOf([task.id], tx)) await changeOpenBlockers(part, more, deps)
  } else if (task.state === 'blocked' && !isHeldUp) await write(task, { to: 'ready' }, deps, counted)
  else if (task.state === 'ready' && isHeldUp) await write(task, { to: 'blocked', reason }, deps, counted)
  else await store.tasks.swap(task, { ...counted, ...(task.state === 'blocked' && reason && { reason }) }, tx)
}

/** Why a task cannot run that comes after one which will not be done. */
export function reasonBlockedBy({ id, title, state }: Task): string | undefined {
  if (state !== 'failed' && state !== 'cancelled') return undefined
  return `comes after ${id} (${title}), which ${state === 'failed' ? 'failed' : 'was cancelled'}`
}

/** A failed or cancelled blocker is named as what stands in the way; one that goes on again no longer. */
async function updateDependents(before: Task, after: Task, deps: TasksTxDeps): Promise<void> {
  const { store, tx } = deps
  const change = Number(before.state === 'done') - Number(after.state === 'done')
  const stood = reasonBlockedBy(before) !== undefined
  const stands = reasonBlockedBy(after)
  if (change === 0 && !stood && !stands) return
  for (const found of await store.tasks.dependentsOf(after.id, tx)) {
    // What it is a part of may come after the same task, and have changed it just now.
    const dependent = found.parent_id === null ? found : ((await store.tasks.get(found.id, tx)) ?? found)
    if (change !== 0) await changeOpenBlockers(dependent, change as 1 | -1, deps, stands)
    if (!stood && (!stands || change !== 0)) continue
    const now = change === 0 ? dependent : await store.tasks.get(dependent.id, tx)
    if (now?.state !== 'blocked') continue
    const held = await store.tasks.swap(now, { reason: stands ?? (await findBlockedReason(now, deps)) }, tx)
    if (held && stands && change === 0) await tell(now, held, deps)
  }
}

/** What a task comes after that will not be done, if there is one. */
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

/** It is no better looked at than its parts. */
async function verificationFromParts(id: string, { store, tx }: TasksTxDeps) {
  const parts = await store.tasks.childrenOf([id], tx)
  const said = parts.map(({ verification }) => verification)
  if (said.includes('unverified')) return 'unverified'
  return said.includes('passed') ? 'passed' : undefined
}
