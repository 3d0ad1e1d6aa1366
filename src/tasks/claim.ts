import { AT_WORK, isBegun, type Task, type TaskScope, type TaskState } from '../domain/task.ts'
import { moveTask, type TasksTxDeps, transition } from './transition.ts'

/** Who claims a task, and from which scope. */
export interface ClaimRequest {
  scope: TaskScope
  run: string
  /** Who is responsible for the run: its own id by default. */
  owner?: string | undefined
  /** The session that will do the task; tasks of its own queue may be claimed too. */
  session?: string | undefined
  /** The only task that may be claimed: its worktree was made for it. */
  only?: string | undefined
}

/** Claims the ready task of a scope with the highest priority, else the oldest, among those in no session's own queue. */
export async function claimReady({ scope, run, owner = run, session, only }: ClaimRequest, deps: TasksTxDeps) {
  const { tasks } = deps.store
  if (only !== undefined) {
    const wanted = await tasks.get(only, deps.tx)
    if (wanted?.state !== 'ready' || wanted.session_id !== null) return undefined
    return moveTask(wanted, { to: 'running', lease: { owner, run, session } }, deps)
  }
  const free = await tasks.nextFree(scope, deps.tx)
  const own = session === undefined ? undefined : await tasks.next(session, deps.tx)
  const task = own && (!free || comesFirst(own, free)) ? own : free
  return task && moveTask(task, { to: 'running', lease: { owner, run, session } }, deps)
}

/** Gives back a task that a run holds; its attempt stays used up, so that later reports of its holder are refused. */
export async function releaseClaim(
  id: string,
  { attempt, reason }: { attempt: number; reason?: string },
  deps: TasksTxDeps,
) {
  return transition(id, { to: 'ready', attempt, reason }, deps)
}

/** Gives back everything that a run, or its owner, holds: they no longer exist. */
export async function releaseClaims(
  by: { run?: string; owner?: string },
  reason: string,
  deps: TasksTxDeps,
): Promise<Task[]> {
  const held = (await deps.store.tasks.held(by, deps.tx)).filter(isBegun)
  const released: Task[] = []
  for (const task of held) released.push(await moveTask(task, { to: 'ready', reason }, deps))
  return released
}

function comesFirst(a: Task, b: Task): boolean {
  return a.priority > b.priority || (a.priority === b.priority && a.position < b.position)
}

/**
 * Claims the task that a session is to work on. An interrupted task comes first, since the conversation holds it; then the one that
 * the session's row names: the prompt that opens its agent was made for that one while the session waited to start.
 */
export async function claimNext(session: string, deps: TasksTxDeps): Promise<Task | undefined> {
  const {
    store: { tasks },
    tx,
  } = deps
  const held = await tasks.atWork(session, tx)
  if (held && isAtWork(held.state)) return undefined
  const task = held ?? (await findPlannedTask(session, deps)) ?? (await tasks.next(session, tx))
  if (!task) return undefined
  return moveTask(task, { to: 'running' }, deps)
}

async function findPlannedTask(session: string, { store, tx }: TasksTxDeps): Promise<Task | undefined> {
  const row = await store.sessions.get(session, tx)
  const task = row?.task_id ? await store.tasks.get(row.task_id, tx) : undefined
  return task?.state === 'ready' ? task : undefined
}

function isAtWork(state: TaskState): boolean {
  return AT_WORK.includes(state)
}
