import type { PastAttempt, RunOutcome } from '../../domain/attempt.ts'
import { type Amounts, amountWords, type BudgetLimits, MEASURES, NOTHING_SPENT } from '../../domain/budget.ts'
import type { RunTarget } from '../../domain/run.ts'
import { type FailureKind, isTransient } from '../../domain/session.ts'
import type { Task, TaskScope, TaskState } from '../../domain/task.ts'
import { hasChangedNothing } from '../../domain/worktree.ts'
import type { Store } from '../../store/store.ts'
import type { AttemptRow, RunRow, SessionRow } from '../../store/tables.ts'

/** What is known of a run when it is looked at. */
export interface RunFacts {
  /** Tasks of its target, by state. */
  counts: Partial<Record<TaskState, number>>
  /** Its sessions that use a place, or will go on by themselves. */
  working: number
  /** Its sessions that wait for a person. */
  waiting: number
  /** Attempts that it has begun. */
  iterations: number
  /** Most attempts. */
  limit: number | undefined
  /** Tasks at once. */
  parallel: number
  /** Why its agents work in the project itself, and therefore one at a time. */
  inPlace?: string | undefined
  /** The bound of its budget that is reached, or of its account without leave to wait for the reset, in words. */
  spent?: string | undefined
  /** No new task begins: a person wants it to end after what is at work, or to stand still. */
  stopping: 'after current' | 'paused' | undefined
  /** The agent said that the whole is beyond it. */
  gaveUp: string | undefined
}

export type RunStep =
  /** A task that is ready may be begun. */
  { do: 'begin' } | { do: 'wait' } | { do: 'end'; outcome: RunOutcome; reason: string }

/** What a run does next. Pure: who claims what is found out by who begins. */
export function nextStep(facts: RunFacts): RunStep {
  const { working, waiting, iterations, limit, parallel, stopping, gaveUp, spent } = facts
  const isCapped = limit !== undefined && iterations >= limit
  const mayBegin = gaveUp === undefined && stopping === undefined && spent === undefined && !isCapped
  if (mayBegin && working < parallel && ready(facts) > 0) {
    return { do: 'begin' }
  }
  if (working > 0 || stopping === 'paused') return { do: 'wait' }
  if (gaveUp !== undefined) return { do: 'end', outcome: 'failure', reason: gaveUp }
  if (stopping === 'after current') return { do: 'end', outcome: 'interrupted', reason: 'stopped by a person' }
  if (isCapped && ready(facts) > 0) {
    return {
      do: 'end',
      outcome: 'limit_reached',
      reason: `${limit} ${limit === 1 ? 'attempt was' : 'attempts were'} made`,
    }
  }
  if (spent !== undefined && ready(facts) + waiting > 0) return { do: 'end', outcome: 'limit_reached', reason: spent }
  return waiting > 0 ? { do: 'wait' } : over(facts)
}

function over({ counts }: RunFacts): RunStep {
  const of = (state: TaskState) => counts[state] ?? 0
  const all = Object.values(counts).reduce((sum, count) => sum + count, 0)
  if (all === of('cancelled')) return { do: 'end', outcome: 'no_plan', reason: 'it has no tasks' }
  if (all === of('done') + of('cancelled')) return { do: 'end', outcome: 'complete', reason: 'every task is done' }
  if (of('failed') > 0) return { do: 'end', outcome: 'failure', reason: `${counted(of('failed'))} failed` }
  return { do: 'end', outcome: 'blocked', reason: `${counted(all - of('done') - of('cancelled'))} cannot run` }
}

function ready({ counts }: RunFacts): number {
  return counts.ready ?? 0
}

function counted(tasks: number): string {
  return tasks === 1 ? '1 task' : `${tasks} tasks`
}

/** The tasks that a run drains. */
export function scopeOf({ project, target }: Pick<RunRow, 'project' | 'target'>): TaskScope {
  if (target.kind === 'feature') return { project, feature: target.name }
  return target.kind === 'task' ? { project, task: target.id } : { project }
}

/** Whether two runs of one project would draw from the same tasks. What one task is a part of is not looked at: claims are exclusive. */
export function overlap(a: RunTarget, b: RunTarget): boolean {
  return a.kind === 'project' || b.kind === 'project' || targetName(a) === targetName(b)
}

/** What a person calls it. */
export function targetName(target: RunTarget): string {
  if (target.kind === 'project') return 'this project'
  return target.kind === 'feature' ? `feature ${target.name}` : `task ${target.id}`
}

type Session = Pick<SessionRow, 'id' | 'state' | 'ended_as' | 'resumes_at'>

/**
 * What an attempt is to its run: its session works or will by itself (`works`); what it did is verified or merged (`lands`); it waits
 * for a person; or it is over. What an agent called done is open until its task is.
 */
export function standingOfAttempt(
  session: Session,
  task?: Pick<Task, 'state' | 'session_id'> | undefined,
): 'works' | 'lands' | 'waits' | 'over' {
  const { state, ended_as, resumes_at } = session
  if (state !== 'ended' || resumes_at !== null) return 'works'
  if (ended_as === 'completed' && task?.session_id === session.id) return landing(task)
  return ended_as === 'completed' || ended_as === 'stopped' || ended_as === 'error' ? 'over' : 'waits'
}

function landing({ state }: Pick<Task, 'state'>): 'lands' | 'waits' | 'over' {
  if (state === 'waiting') return 'waits'
  // One that was sent back is about to go on in the same conversation.
  return state === 'verifying' || state === 'merging' || state === 'running' ? 'lands' : 'over'
}

/** Sessions asked for in one query. */
const AT_ONCE = 200

export interface BudgetLeft {
  /** What the next session may spend; nothing where the run has no budget. */
  left: BudgetLimits | undefined
  /** The bound that is reached, in words. */
  spent: string | undefined
}

/** What a run has left of its budget: it is one for all its sessions together. */
export async function budgetLeft(
  { options }: Pick<RunRow, 'options'>,
  attempts: readonly Pick<AttemptRow, 'session_id'>[],
  { spending }: Pick<Store, 'spending'>,
): Promise<BudgetLeft> {
  const { budget } = options
  if (!budget) return { left: undefined, spent: undefined }
  const keys = [...new Set(attempts.map(({ session_id }) => session_id))]
  const total = { ...NOTHING_SPENT }
  for (let at = 0; at < keys.length; at += AT_ONCE) {
    const rows = await spending.of(keys.slice(at, at + AT_ONCE).map(key => ({ scope: 'session', key })))
    for (const row of rows) for (const measure of MEASURES) total[measure] += row[measure]
  }
  return { left: remaining(budget, total), spent: reached(budget, total) }
}

function remaining(budget: BudgetLimits, total: Amounts): BudgetLimits {
  const bounds = MEASURES.flatMap(measure => {
    const limit = budget[measure]
    return limit === undefined ? [] : [[measure, Math.max(0, limit - total[measure])]]
  })
  return Object.fromEntries(bounds)
}

function reached(budget: BudgetLimits, total: Amounts): string | undefined {
  const measure = MEASURES.find(each => total[each] >= (budget[each] ?? Number.POSITIVE_INFINITY))
  return measure && `its budget of ${amountWords(measure, budget[measure] ?? 0)} is spent`
}

/** Of the tasks that a run has done in worktrees, those whose work is in its target, and those whose work is not. */
export async function countMerged(run: string, store: Store): Promise<{ merged: number; unmerged: number }> {
  const counted = { merged: 0, unmerged: 0 }
  for (const { session_id, outcome } of await store.runs.attempts({ run })) {
    const place = outcome === 'done' ? (await store.sessions.get(session_id))?.options.place : undefined
    if (!place) continue
    const rows = await store.merges.list({ task: place.task, states: ['merged'] })
    // What changed nothing is neither: there was nothing to merge.
    if (rows.some(row => row.attempt === place.attempt && hasChangedNothing(place, row))) continue
    counted[rows.some(({ attempt }) => attempt === place.attempt) ? 'merged' : 'unmerged'] += 1
  }
  return counted
}

/** Reasons not to begin that go away without anybody's doing. */
export const PASSING_CODES: ReadonlySet<string> = new Set(['disk_full', 'line_full', 'daemon_stopping', 'place_busy'])

export interface RetryRules {
  /** Tries after the first. */
  maxRetries: number
  /** How long each try in a row waits after a failure that may pass by itself; the last holds for all later ones. */
  retryMs?: readonly number[]
}

export type RetryPlan =
  /** `note`: what the next attempt is told beside the report. */
  | { again: true; afterMs: number; note?: string }
  /** `story`: every failed attempt with its reason, for the task's row and the person who reads it. */
  | { again: false; why: string; story: string }

/** As `sessions.retry_seconds` has it where nothing else is said (`runs/run-settings.ts`). */
const RETRY_MS = [60_000, 300_000, 900_000]

/** What no other attempt and no other model mends: somebody has to do something first. */
const NEEDS_A_PERSON: ReadonlySet<FailureKind> = new Set(['auth', 'billing', 'agent_missing', 'model_not_found'])

/**
 * Whether a task whose last attempt is over is tried again, when, and with which word of advice. `history` holds the task's
 * attempts, oldest first. Interruptions are no failures: they are neither counted nor waited for. Pure.
 */
export function retryPlan(history: readonly PastAttempt[], { maxRetries, retryMs = RETRY_MS }: RetryRules): RetryPlan {
  const failures = history.filter(({ outcome }) => outcome === 'failed')
  const last = history.at(-1)
  if (last?.outcome !== 'failed') return { again: true, afterMs: 0 }
  if (last.failure != null && NEEDS_A_PERSON.has(last.failure)) {
    return { again: false, why: 'another attempt would fail in the same way', story: storyOf(failures) }
  }
  if (failures.length > maxRetries) {
    const why = maxRetries === 0 ? 'no retries are allowed' : `tried ${failures.length} times`
    return { again: false, why, story: storyOf(failures) }
  }
  const ofTheWork = failures.filter(past => !mayPass(past)).length
  return {
    again: true,
    afterMs: waitAfter(history, retryMs),
    ...(ofTheWork >= 2 && { note: OTHER_WAY }),
  }
}

/** What is left of a task's attempts when a person had it done anew since: its row counts the failures from there on. */
export function sinceReset<T extends PastAttempt>(history: readonly T[], retries: number): readonly T[] {
  const failures = history.filter(({ outcome }) => outcome === 'failed')
  const first = retries === 0 ? undefined : failures.at(-Math.min(retries, failures.length))
  return first ? history.slice(history.indexOf(first)) : []
}

const OTHER_WAY =
  'It has failed more than once. Do not repeat what was tried: find out first why it failed, then take a different approach, and say in your report which.'

/** Failures that may pass wait longer with each in a row; the agent's own failures are tried again at once. */
function waitAfter(history: readonly PastAttempt[], retryMs: readonly number[]): number {
  const inARow = history.length - 1 - history.findLastIndex(past => !mayPass(past))
  if (inARow === 0) return 0
  return retryMs[Math.min(inARow, retryMs.length) - 1] ?? 0
}

function mayPass({ outcome, failure }: PastAttempt): boolean {
  return outcome === 'failed' && failure != null && isTransient(failure)
}

/** Longer stories are told from both ends: how it began, and what came of it. */
const MOST_TOLD = 10
const LONGEST_REASON = 500

function storyOf(failures: readonly PastAttempt[]): string {
  const lines = failures.map(({ number, model, reason, result }) => {
    const why = shortened(reason ?? result ?? 'no reason was given')
    return `attempt ${number}${model === null ? '' : ` (${model})`}: ${why}`
  })
  if (lines.length <= MOST_TOLD) return lines.join('\n')
  const half = MOST_TOLD / 2
  return [...lines.slice(0, half), `(${lines.length - MOST_TOLD} more)`, ...lines.slice(-half)].join('\n')
}

function shortened(text: string): string {
  const line = text.trim().replace(/\s+/g, ' ')
  return line.length > LONGEST_REASON ? `${line.slice(0, LONGEST_REASON - 1).toWellFormed()}…` : line
}
