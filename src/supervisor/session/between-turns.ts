import type { AccountAdmission } from '../../agents/limits/account-gates.ts'
import { nextAllowedTime } from '../../agents/limits/resume-times.ts'
import { crashPoint } from '../../base/crash-point.ts'
import type { Limit } from '../../domain/limit.ts'
import type { Task } from '../../domain/task.ts'
import type { Tx } from '../../store/store.ts'
import { endingIfSpent, halted } from '../guards/spending.ts'
import type { LiveSession, LiveSessionEnding, SessionContext, SessionDeps } from './context.ts'
import { limited, paused, stopped } from './endings.ts'

/** A session whose account is shut waits for that, without a process and without a place in the line. It took no task. */
export async function endingIfShut(live: LiveSession, deps: SessionDeps): Promise<LiveSessionEnding | undefined> {
  const admission = await deps.accounts.admits(live)
  return admission.open ? undefined : { ...(await waitAtGate(admission, { live, deps })), task: undefined }
}

/**
 * Before the agent is opened: nothing starts on an account that is shut, and the session takes the task it will work on. An
 * ending comes back where it may not begin.
 */
export async function beginTask(live: LiveSession, deps: SessionDeps): Promise<LiveSessionEnding | undefined> {
  if (live.stopping !== undefined) return { ...stopped(live.stopping), task: undefined }
  if (live.pausing === 'person') return { ...paused('person', live), task: undefined }
  // What shut the account before may be over. Forgotten before the gate is looked at: what shuts it from here on counts.
  if (live.pausing === 'gate') live.pausing = undefined
  const shut = await endingIfShut(live, deps)
  if (shut) return shut
  const spent = await endingIfSpent(live, deps)
  if (spent) return { ...spent, task: undefined }
  const { store, tasks } = deps
  const task = await store.transaction(async tx => {
    const claimed = (await tasks.claimNext(live.id, tx)) ?? (await taskHeldAlready(live, deps, tx))
    if (claimed) await store.sessions.update(live.id, { task_id: claimed.id }, tx)
    crashPoint('claim.before-commit')
    return claimed
  })
  crashPoint('claim.after-commit')
  if (task) {
    live.row = { ...live.row, task_id: task.id }
    live.attempt = task.attempt
  }
  return endingBetweenTurns({ live, deps })
}

/** A run has claimed its task together with its row. */
function taskHeldAlready({ row }: LiveSession, { store }: SessionDeps, tx: Tx): Promise<Task | undefined> {
  return row.options.run && row.task_id !== null ? store.tasks.get(row.task_id, tx) : Promise.resolve(undefined)
}

/**
 * What was asked of the session since its last turn ended. An agent that stands between two prompts cannot be told to stop,
 * so it is looked at here, right before the next one: the caller awaits nothing in between.
 */
export function endingBetweenTurns({
  live,
  deps,
}: SessionContext): LiveSessionEnding | Promise<LiveSessionEnding> | undefined {
  if (live.stopping !== undefined) return stopped(live.stopping)
  if (live.pausing === 'person') return paused('person', live)
  if (live.tripped) return halted(live, live.tripped)
  if (live.pausing === 'gate')
    return deps.accounts.admits(live).then(admission => waitAtGate(admission, { live, deps }))
  return undefined
}

/** Long enough that a gate which opened in this very moment is not knocked at by everybody at once. */
const SOON_MS = 1_000

interface GateWait extends SessionContext {
  /** The limit that this session met itself. */
  limit?: Limit | undefined
  /** Its task was completed before it had to wait. */
  text?: string | undefined
}

/** The ending of a session whose account is shut: it waits, and goes on by itself where a person agreed to that. */
export async function waitAtGate(
  admission: AccountAdmission,
  { live, deps, limit, text }: GateWait,
): Promise<LiveSessionEnding> {
  const now = deps.clock.now()
  if (admission.open) return limited('the limit is over', { resumesAt: now + SOON_MS, limit, text }, live)
  const { gate } = admission
  if (admission.why === 'held') {
    // Its time has come as soon as the person lets go; the waker leaves it alone until then.
    const resumesAt = nextAllowedTime(Math.max(now, gate.closed_until ?? 0), live.consent)
    const message = `held by ${gate.held_by ?? 'a person'}; let it go with: pcc quota release`
    return { ...limited(message, { resumesAt, limit, text }, live), held: true }
  }
  const resumesAt = await deps.accounts.resumesAt(live, gate)
  return limited(limit?.message ?? gate.reason ?? 'the account is limited', { resumesAt, limit, text }, live)
}

/** The ending of a session that has more to do, on an account whose allowance is nearly used up. */
export async function waitForQuota(text: string, { live, deps }: SessionContext): Promise<LiveSessionEnding> {
  const { easesAt } = await deps.accounts.level(live)
  const resumesAt = easesAt === undefined ? deps.clock.now() + LOOK_AGAIN_MS : easesAt + SOON_MS
  return limited('the allowance is nearly used up, so no new task is begun', { resumesAt, text }, live)
}

/** Where nobody tells when a window is fresh again. */
const LOOK_AGAIN_MS = 10 * 60_000
