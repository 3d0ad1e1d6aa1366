import type { AccountAdmission } from '../../agents/limits/account-gates.ts'
import { nextAllowedTime } from '../../agents/limits/resume-times.ts'
import { crashPoint } from '../../base/crash-point.ts'
import { faultOf, GOES_ON_IN_HOURS, type Limit } from '../../domain/limit.ts'
import { NEARLY_USED_UP } from '../../domain/quota.ts'
import type { Task } from '../../domain/task.ts'
import type { Tx } from '../../store/store.ts'
import { withTaskBudget } from '../../tasks/budgets.ts'
import { endingIfSpent, halted } from '../guards/spending.ts'
import type { LiveSession, LiveSessionEnding, SessionContext, SessionDeps } from './context.ts'
import { limited, paused, stopped, waitsForMending } from './endings.ts'
import { hasMoneyBound } from './settings.ts'

/** The ending of a session whose account is closed: it waits without a process and outside of the line. */
export async function endingIfShut(live: LiveSession, deps: SessionDeps): Promise<LiveSessionEnding | undefined> {
  const admission = await deps.accounts.admits(live)
  return admission.open ? undefined : withTaskOfRun(await waitAtGate(admission, { live, deps }), live)
}

/** A session that has not begun has claimed no task, but its run has done so for it: that one waits too. */
function withTaskOfRun(ending: LiveSessionEnding, { row }: LiveSession): LiveSessionEnding {
  return row.options.run ? ending : { ...ending, task: undefined }
}

/**
 * Claims the task that the session will work on, before the agent is opened. Returns an ending where the session may not
 * begin, for example because its account is closed.
 */
export async function beginTask(live: LiveSession, deps: SessionDeps): Promise<LiveSessionEnding | undefined> {
  if (live.control.stopping !== undefined) return { ...stopped(live.control.stopping), task: undefined }
  if (live.control.pausing === 'person') return { ...paused('person', live), task: undefined }
  // The limit that closed the account may be over. This is reset before the gate is read, so that a limit from here on counts.
  if (live.control.pausing === 'gate') live.control.pausing = undefined
  const gateEnding = await endingIfShut(live, deps)
  if (gateEnding) return gateEnding
  const budgetEnding = await endingIfSpent(live, deps)
  if (budgetEnding) return withTaskOfRun(budgetEnding, live)
  const { store, tasks } = deps
  const task = await store.transaction(async tx => {
    const claimed = (await tasks.claimNext(live.id, tx)) ?? (await taskClaimedByRun(live, deps, tx))
    if (claimed) await store.sessions.update(live.id, { task_id: claimed.id }, tx)
    crashPoint('claim.before-commit')
    return claimed
  })
  crashPoint('claim.after-commit')
  if (task) {
    live.row = { ...live.row, task_id: task.id }
    live.agent.attempt = task.attempt
    if (hasMoneyBound(await withTaskBudget(live.settings.budgets, live.row, store)))
      live.settings.open.followCost = true
  }
  return endingBetweenTurns({ live, deps })
}

/** A run has claimed the task together with the session's row. */
function taskClaimedByRun({ row }: LiveSession, { store }: SessionDeps, tx: Tx): Promise<Task | undefined> {
  return row.options.run && row.task_id !== null ? store.tasks.get(row.task_id, tx) : Promise.resolve(undefined)
}

/**
 * The ending, where somebody asked the session to stop or pause since its last turn ended. An agent between two prompts
 * cannot be told to stop, so this is checked right before the next prompt: the caller awaits nothing in between.
 */
export function endingBetweenTurns({
  live,
  deps,
}: SessionContext): LiveSessionEnding | Promise<LiveSessionEnding> | undefined {
  if (live.control.stopping !== undefined) return stopped(live.control.stopping)
  if (live.control.pausing === 'person') return paused('person', live)
  if (live.control.tripped) return halted(live, live.control.tripped)
  if (live.control.pausing === 'gate')
    return deps.accounts.admits(live).then(admission => waitAtGate(admission, { live, deps }))
  return undefined
}

/** A short delay, so that not every session calls the account in the very moment in which its gate opens. */
export const SOON_MS = 1_000

interface GateWait extends SessionContext {
  /** The limit that this session met itself. */
  limit?: Limit | undefined
  /** The agent's report, where its task was completed before it had to wait. */
  text?: string | undefined
}

/** The ending of a session whose account is closed: it waits, and goes on by itself where a person agreed to that. */
export async function waitAtGate(
  admission: AccountAdmission,
  { live, deps, limit, text }: GateWait,
): Promise<LiveSessionEnding> {
  const now = deps.clock.now()
  if (admission.open) return limited('the limit is over', { resumesAt: now + SOON_MS, limit, text }, live)
  const { gate } = admission
  if (admission.why === 'held') {
    // The session may go on as soon as the person releases the account; the waker leaves it alone until then.
    const resumesAt = nextAllowedTime(Math.max(now, gate.closed_until ?? 0), live.settings.consent)
    const message = `held by ${gate.held_by ?? 'a person'}; let it go with: pcc quota release`
    return { ...limited(message, { resumesAt, limit, text }, live), held: true }
  }
  const { at: resumesAt, inHours } = await deps.accounts.resumesAt(live, gate)
  const fault = faultOf(gate)
  if (fault) return waitsForMending(fault, { reason: gate.reason ?? '', resumesAt, text }, live)
  const cause = limit?.message ?? gate.reason ?? 'the account is limited'
  const message = inHours ? `${cause}; ${GOES_ON_IN_HOURS}` : cause
  return { ...limited(message, { resumesAt, limit, text }, live), ...(resumesAt !== null && { waitsForGate: true }) }
}

/** The ending of a session that has more tasks, on an account whose allowance is nearly used up. */
export async function waitForQuota(text: string, { live, deps }: SessionContext): Promise<LiveSessionEnding> {
  const { resetsAt } = await deps.accounts.level(live)
  const resumesAt = resetsAt === undefined ? deps.clock.now() + CHECK_AGAIN_MS : resetsAt + SOON_MS
  return limited(`${NEARLY_USED_UP}, so no new task is begun`, { resumesAt, text }, live)
}

/** How long to wait where it is not known when a window is renewed. */
const CHECK_AGAIN_MS = 10 * 60_000
