import type { PastAttempt, RunOutcome } from '../../domain/attempt.ts'
import { type Amounts, amountWords, type BudgetLimits, MEASURES, NOTHING_SPENT } from '../../domain/budget.ts'
import { FAULT_NAMES, FAULTS } from '../../domain/limit.ts'
import type { RunTarget } from '../../domain/run.ts'
import { type FailureKind, isTransient } from '../../domain/session.ts'
import { isFinal } from '../../domain/session-end.ts'
import { isBegun, type Task, type TaskScope, type TaskState } from '../../domain/task.ts'
import type { Store } from '../../store/store.ts'
import type { AttemptRow, RunRow, SessionRow } from '../../store/tables.ts'
import type { DoneAttempt } from '../../store/task-stores.ts'

/** The facts by which the next step of a run is decided. */
export interface RunFacts {
  /** Tasks of the run's target, by state. */
  counts: Partial<Record<TaskState, number>>
  /** Tasks that failed before the run began and were not reset since: the run has not tried them. */
  failedEarlier?: readonly string[] | undefined
  /** How many of those that are done are unverified. */
  unverified?: number | undefined
  /** Why they are, in words. It is asked for when the run ends. */
  whyUnverified?: string | undefined
  /** Attempts that work, will resume by themselves, or whose work is verified or merged. */
  working: number
  /** Of those that work: attempts that wait for an account that a person has to mend. A task of another agent may begin beside them. */
  stalled?: number | undefined
  /** Attempts that wait for a person, or whose merge is held up. */
  waiting: number
  /** Of those that wait: attempts whose merge goes on without an answer, for example when a checkout is no longer in use. */
  heldUp?: number | undefined
  /** Attempts that the run has begun. */
  iterations: number
  /** Most attempts of the run. */
  limit: number | undefined
  /** Tasks at once. */
  parallel: number
  /** Why the agents work in the project itself, and therefore one at a time. */
  inPlace?: string | undefined
  /** The bound that is reached, in words: of the budget, or of an account whose reset the session may not wait for. */
  spent?: string | undefined
  /** A person wants no new task to begin: the run ends after the tasks at work, or stays paused. */
  beginsNothing: 'after current' | 'paused' | undefined
  /** Why the agent gave up on the whole run. */
  gaveUp: string | undefined
}

export type RunStep =
  /** A task that is ready may be begun. */
  { do: 'begin' } | { do: 'wait' } | RunEnd

/** `isSpent`: it ends because of the bound in `RunFacts.spent`. */
export type RunEnd = { do: 'end'; outcome: RunOutcome; reason: string; isSpent?: true }

/** Decides what a run does next. Pure: which task is claimed is decided when it begins. */
export function nextStep(facts: RunFacts): RunStep {
  const { working, stalled = 0, waiting, heldUp = 0, iterations, limit, parallel, beginsNothing, gaveUp, spent } = facts
  const isCapped = limit !== undefined && iterations >= limit
  const mayBegin = gaveUp === undefined && beginsNothing === undefined && spent === undefined && !isCapped
  if (mayBegin && working - stalled < parallel && countReady(facts) > 0) {
    return { do: 'begin' }
  }
  if (working > 0 || beginsNothing === 'paused') return { do: 'wait' }
  if (gaveUp !== undefined) return { do: 'end', outcome: 'failure', reason: gaveUp }
  if (beginsNothing === 'after current') return { do: 'end', outcome: 'interrupted', reason: 'stopped by a person' }
  const made = `${limit} ${limit === 1 ? 'attempt was' : 'attempts were'} made`
  if (isCapped && countReady(facts) > 0) return { do: 'end', outcome: 'limit_reached', reason: made }
  if (spent !== undefined && countReady(facts) + waiting > 0)
    return { do: 'end', outcome: 'limit_reached', reason: spent, isSpent: true }
  // The answer may take days: its session then finishes the task without the run.
  if (isCapped && waiting > 0 && heldUp === 0) {
    const left = `${describeCount(waiting)} ${waiting === 1 ? 'waits' : 'wait'} for you: pcc pending`
    return { do: 'end', outcome: 'limit_reached', reason: `${made}; ${left}` }
  }
  return waiting > 0 ? { do: 'wait' } : endByCounts(facts)
}

/** What failed before the run began does not make it fail, but is named. */
export function endByCounts({
  counts,
  iterations,
  failedEarlier = [],
  unverified = 0,
  whyUnverified,
}: RunFacts): RunEnd {
  const { done = 0, failed = 0, cancelled = 0 } = counts
  const all = Object.values(counts).reduce((sum, count) => sum + count, 0)
  const own = failed - failedEarlier.length
  if (own > 0)
    return { do: 'end', outcome: 'failure', reason: `${describeCount(own)} failed${describeEarlier(failedEarlier)}` }
  const left = all - done - cancelled - failed
  if (left > 0)
    return {
      do: 'end',
      outcome: 'blocked',
      reason: `${describeCount(left)} cannot run${describeEarlier(failedEarlier)}`,
    }
  if (iterations === 0 && failed > 0)
    return { do: 'end', outcome: 'no_plan', reason: `no task is ready${describeEarlier(failedEarlier)}` }
  if (done === 0 && iterations === 0) return { do: 'end', outcome: 'no_plan', reason: 'it has no tasks' }
  const what = done === 0 ? 'its tasks were cancelled' : failed > 0 ? 'every other task is done' : 'every task is done'
  const why = whyUnverified === undefined ? '' : ` (${whyUnverified})`
  const part = unverified === 0 ? '' : `, ${unverified} of ${done} unverified${why}`
  return { do: 'end', outcome: 'complete', reason: `${what}${part}${describeEarlier(failedEarlier)}` }
}

function describeEarlier(tasks: readonly string[]): string {
  if (tasks.length === 0) return ''
  const more = tasks.length > MOST_NAMED ? ' …' : ''
  return `; ${describeCount(tasks.length)} failed earlier: pcc task reset ${tasks.slice(0, MOST_NAMED).join(' ')}${more}`
}

/** The tasks that a reason names. */
const MOST_NAMED = 5

function countReady({ counts }: RunFacts): number {
  return counts.ready ?? 0
}

function describeCount(tasks: number): string {
  return tasks === 1 ? '1 task' : `${tasks} tasks`
}

/** The tasks that a run drains. */
export function scopeOf({ project, target }: Pick<RunRow, 'project' | 'target'>): TaskScope {
  if (target.kind === 'feature') return { project, feature: target.name }
  return target.kind === 'task' ? { project, task: target.id } : { project }
}

/** Whether two runs of one project would draw from the same tasks. Parents of tasks need no check: claims are exclusive. */
export function overlap(a: RunTarget, b: RunTarget): boolean {
  return a.kind === 'project' || b.kind === 'project' || targetName(a) === targetName(b)
}

/** The target in words, for people. */
export function targetName(target: RunTarget): string {
  if (target.kind === 'project') return 'the whole project'
  return target.kind === 'feature' ? `feature ${target.name}` : `task ${target.id}`
}

type Session = Pick<SessionRow, 'id' | 'state' | 'ended_as' | 'resumes_at'>

/**
 * The state of an open attempt: its session is at work or will resume by itself (`working`); its work is verified or merged
 * (`completing`); it waits for a person (`waiting`); or it is over. An attempt whose agent called the task done stays open until
 * the task is done.
 */
export function classifyAttempt(
  session: Session,
  task?: Pick<Task, 'state' | 'session_id'> | undefined,
): 'working' | 'completing' | 'waiting' | 'over' {
  const { state, ended_as, resumes_at } = session
  if (state !== 'ended' || resumes_at !== null) return 'working'
  if (ended_as === 'completed' && task?.session_id === session.id) return classifyCompletion(task)
  return isFinal(ended_as) ? 'over' : 'waiting'
}

function classifyCompletion({ state }: Pick<Task, 'state'>): 'completing' | 'waiting' | 'over' {
  if (state === 'waiting') return 'waiting'
  // A running task was sent back: its session is about to resume the same conversation.
  return isBegun({ state }) ? 'completing' : 'over'
}

/**
 * What finished work waits for: a person, or a merge that goes on by itself, for example when a checkout is no longer in use. Other
 * tasks need not wait for that. Undefined if nothing holds it up.
 */
export async function findHoldUp(
  session: string,
  task: string,
  { escalations, merges }: Store,
): Promise<'person' | 'merge' | undefined> {
  const open = await escalations.list({ session, states: ['open'] })
  const merge = (await merges.open(task))?.state
  if (open.length > 0 || merge === 'review') return 'person'
  return merge === 'waiting' ? 'merge' : undefined
}

/** Whether a session without an agent waits for a person's decision. A run that ends leaves it: what they decide must not be lost. */
export async function waitsForPerson(id: string, task: string, store: Store): Promise<boolean> {
  const session = await store.sessions.get(id)
  if (session?.state !== 'ended') return false
  const waitsForYes = session.ended_as === 'paused' && session.options.refused !== undefined
  return waitsForYes || (await findHoldUp(id, task, store)) === 'person'
}

/** Most sessions in one query. */
const QUERY_SIZE = 200

export interface BudgetLeft {
  /** What the next session may spend; undefined if the run has no budget. */
  left: BudgetLimits | undefined
  /** The bound that is reached, in words. */
  spent: string | undefined
}

/** What a run has left of its budget, which all its sessions share. */
export async function budgetLeft(
  { options }: Pick<RunRow, 'options'>,
  attempts: readonly Pick<AttemptRow, 'session_id'>[],
  { spending }: Pick<Store, 'spending'>,
): Promise<BudgetLeft> {
  const { budget } = options
  if (!budget) return { left: undefined, spent: undefined }
  const keys = [...new Set(attempts.map(({ session_id }) => session_id))]
  const total = { ...NOTHING_SPENT }
  for (let at = 0; at < keys.length; at += QUERY_SIZE) {
    const rows = await spending.of(keys.slice(at, at + QUERY_SIZE).map(key => ({ scope: 'session', key })))
    for (const row of rows) for (const measure of MEASURES) total[measure] += row[measure]
  }
  return { left: subtract(budget, total), spent: describeReached(budget, total) }
}

function subtract(budget: BudgetLimits, total: Amounts): BudgetLimits {
  const bounds = MEASURES.flatMap(measure => {
    const limit = budget[measure]
    return limit === undefined ? [] : [[measure, Math.max(0, limit - total[measure])]]
  })
  return Object.fromEntries(bounds)
}

function describeReached(budget: BudgetLimits, total: Amounts): string | undefined {
  const reached = MEASURES.find(measure => total[measure] >= (budget[measure] ?? Number.POSITIVE_INFINITY))
  return reached && `its budget of ${amountWords(reached, budget[reached] ?? 0)} is spent`
}

/** Counts the tasks that a run has done in worktrees: those whose work is in the target, and those whose work is not. */
export function countMerged(doneAttempts: readonly DoneAttempt[]): { merged: number; unmerged: number } {
  const count = (as: DoneAttempt['as']) => doneAttempts.filter(attempt => attempt.as === as).length
  return { merged: count('merged'), unmerged: count('unmerged') }
}

export interface RetryRules {
  /** Attempts after the first. Failures of the vendor or the network are not counted: they are tried again for as long as it takes. */
  maxRetries: number
  /** The waits before consecutive retries after a transient failure; the last one holds for all later retries. None if absent. */
  retryMs?: readonly number[]
}

export type RetryPlan =
  /** `note`: advice for the next attempt, besides the report. */
  | { again: true; afterMs: number; note?: string }
  /** `story`: every failed attempt with its reason, for the task's row and its reader. */
  | { again: false; why: string; story: string }

/** Failures that neither another attempt nor another model can fix: a person has to act first. */
const NEEDS_A_PERSON: ReadonlySet<FailureKind> = new Set(FAULT_NAMES.map(fault => FAULTS[fault].failure))

/** Faults of the surroundings that a person mends: a program that is not there, a model that the vendor does not know. They use no retry. */
const MENDED: ReadonlySet<FailureKind> = new Set(['agent_missing', 'model_not_found'])

/** Whether other tasks may begin before the task of this failure is tried again: they may have another agent or model. */
export function holdsItsTaskOnly(failure: FailureKind | null): boolean {
  return failure !== null && MENDED.has(failure)
}

/**
 * Decides whether a task whose last attempt is over is tried again, when, and with which advice. `history` holds the task's
 * attempts, oldest first. Interruptions are not failures: they are not counted and cause no wait. Pure.
 */
export function retryPlan(history: readonly PastAttempt[], { maxRetries, retryMs = [] }: RetryRules): RetryPlan {
  const failures = history.filter(({ outcome }) => outcome === 'failed')
  const last = history.at(-1)
  if (last?.outcome !== 'failed') return { again: true, afterMs: 0 }
  if (last.failure != null && NEEDS_A_PERSON.has(last.failure)) {
    return { again: false, why: 'another attempt would fail in the same way', story: tellFailures(failures) }
  }
  if (failures.filter(usesRetry).length > maxRetries) {
    const why = maxRetries === 0 ? 'no retries are allowed' : `tried ${failures.length} times`
    return { again: false, why, story: tellFailures(failures) }
  }
  const ownFailures = failures.filter(past => !isTransientFailure(past)).length
  return {
    again: true,
    afterMs: retryDelay(history, retryMs),
    ...(ownFailures >= 2 && { note: TRY_ANOTHER_WAY }),
  }
}

/** The attempts of a task since a person last reset it: the task's row counts the failures since then. */
export function sinceReset<T extends PastAttempt>(history: readonly T[], retries: number): readonly T[] {
  const failures = history.filter(({ outcome }) => outcome === 'failed')
  const first = retries === 0 ? undefined : failures.at(-Math.min(retries, failures.length))
  return first ? history.slice(history.indexOf(first)) : []
}

const TRY_ANOTHER_WAY =
  'It has failed more than once. Do not repeat what was tried: find out first why it failed, then take a different approach, and say in your report which.'

/** Each consecutive transient failure waits longer; a failure of the agent's own work is retried at once. */
function retryDelay(history: readonly PastAttempt[], retryMs: readonly number[]): number {
  const consecutive = history.length - 1 - history.findLastIndex(past => !isTransientFailure(past))
  if (consecutive === 0) return 0
  return retryMs[Math.min(consecutive, retryMs.length) - 1] ?? 0
}

function isTransientFailure({ outcome, failure }: PastAttempt): boolean {
  return outcome === 'failed' && failure != null && (isTransient(failure) || MENDED.has(failure))
}

/** A fault of the surroundings uses no retry. A crash does: the task itself may be what the agent cannot bear. */
function usesRetry(past: PastAttempt): boolean {
  return !isTransientFailure(past) || past.failure === 'agent_crashed'
}

/** A longer story shows its first and its last lines. */
const MAX_STORY_LINES = 10
const MAX_REASON_LENGTH = 500

function tellFailures(failures: readonly PastAttempt[]): string {
  const lines = failures.map(({ number, model, reason, result }) => {
    const why = shorten(reason ?? result ?? 'no reason was given')
    return `attempt ${number}${model === null ? '' : ` (${model})`}: ${why}`
  })
  if (lines.length <= MAX_STORY_LINES) return lines.join('\n')
  const half = MAX_STORY_LINES / 2
  return [...lines.slice(0, half), `(${lines.length - MAX_STORY_LINES} more)`, ...lines.slice(-half)].join('\n')
}

function shorten(text: string): string {
  const line = text.trim().replace(/\s+/g, ' ')
  return line.length > MAX_REASON_LENGTH ? `${line.slice(0, MAX_REASON_LENGTH - 1).toWellFormed()}…` : line
}
