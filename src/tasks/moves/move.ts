import { AT_WORK, type Task, type TaskState, type Verification } from '../../domain/task.ts'

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
export function columnsOf(task: Task, move: Move, now: number): Partial<Task> {
  const { to, reason, result, wakesAt, anew, retry } = move
  const claimed = to === 'running' && task.state === 'ready'
  return {
    state: to,
    reason: reason === undefined ? null : capped(reason, MAX_REASON),
    wakes_at: to === 'waiting' ? (wakesAt ?? null) : null,
    ended_at: isOver(to) ? now : null,
    verification: verificationOf(move),
    ...ownerOf(task, move),
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

function verificationOf({ to, verification, forced }: Move): Verification | null {
  if (verification !== undefined) return verification
  return to === 'done' && !forced ? 'unverified' : null
}

/** What a run gives back is nobody's again; of what is over it stays known who did it. */
function ownerOf(task: Task, { to, lease }: Move): Partial<Task> {
  if (lease) return { lease_owner: lease.owner, run_id: lease.run, session_id: lease.session ?? task.session_id }
  if (isOver(to)) return { lease_owner: null }
  if (to === 'ready' || to === 'blocked')
    return task.run_id === null ? {} : { lease_owner: null, run_id: null, session_id: null }
  return {}
}

function capped(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1).toWellFormed()}…` : text
}
