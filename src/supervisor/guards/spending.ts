import { estimateCost } from '../../agents/hooks/usage.ts'
import { nextAllowedTime, type ResumeConsent } from '../../agents/limits/resume-times.ts'
import { AppError } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import type { ModelUse } from '../../domain/brain.ts'
import {
  type Amounts,
  advisedLimit,
  type BudgetScope,
  type Budgets,
  type BudgetUse,
  NOTHING_SPENT,
  overrunWords,
  type Purpose,
  type PurposeAmounts,
  raiseCommand,
  typedAmount,
  typedBudget,
} from '../../domain/budget.ts'
import type { NewEvent } from '../../domain/event.ts'
import type { Limit } from '../../domain/limit.ts'
import type { Tx } from '../../store/store.ts'
import type { SessionRow } from '../../store/tables.ts'
import {
  bookSpending,
  calendarDayOf,
  findBudgetWarnings,
  findOverrun,
  findSpent,
  readSpendingTotals,
  type Spender,
  type SpendingTotals,
  startOfNextDay,
  withTaskBudget,
} from '../../tasks/budgets.ts'
import {
  eventOf,
  type GuardTrip,
  type LiveSession,
  type LiveSessionEnding,
  type SessionContext,
  type SessionDeps,
} from '../session/context.ts'
import { errorRow, limitHit, taskAfter } from '../session/endings.ts'
import { tripGuard } from '../session/stop-agent.ts'

export interface BookedSpending {
  totals: SpendingTotals
  /** The limits of the session and of its task. */
  budgets: Budgets
  /** Takes the booking back: the transaction failed. */
  undo(): void
}

/** Books what the session has spent since the last booking, in the transaction of a write that happens anyway. */
export async function bookSpent(
  live: LiveSession,
  deps: SessionDeps,
  tx: Tx,
  { all = false } = {},
): Promise<BookedSpending | undefined> {
  const now = deps.clock.now()
  live.meters.meter.passes(now, live.agent.session !== undefined && live.row.state !== 'asking')
  const taken = live.meters.meter.take({ all })
  if (!taken) return undefined
  try {
    const parts = live.meters.purposes.split(taken.amounts, purposeOf(live))
    const { before, after } = await bookSpending(live.row, taken.amounts, { ...deps, tx, parts })
    const budgets = await withTaskBudget(live.settings.budgets, live.row, deps.store, tx)
    const warnings = findBudgetWarnings(before, after, budgets).map(use =>
      eventOf(live, 'budget.warned', { ...use, key: budgetKey(use.scope, live.row, now) }, 'daemon'),
    )
    await tx.append(warnings)
    return { totals: after, budgets, undo: taken.undo }
  } catch (error) {
    taken.undo()
    throw error
  }
}

/** What the session's agent works for now. */
export function purposeOf({ agent, meters, row: { options } }: LiveSession): Purpose {
  if (meters.afterLimit) return 'limits'
  const { failed = 0, conflicts = 0, outside = 0 } = options.landing ?? {}
  return (agent.attempt ?? 1) > 1 || failed + conflicts + outside > 0 ? 'retries' : 'work'
}

/** Books what a model used that was asked for something other than the work itself, and reports it. */
export async function bookAsked(
  spender: Spender,
  { purpose, model, input_tokens, output_tokens, ...amounts }: AskedUse,
  { store, clock }: Pick<SessionDeps, 'store' | 'clock'>,
): Promise<void> {
  const { id, project, task_id } = spender
  const parts = { [purpose]: amounts }
  const about = { purpose, project, ...(task_id !== null && { task: task_id }), ...(model && { model }) }
  const body = { ...about, input_tokens, output_tokens, cost_usd: amounts.cost_usd }
  await store.transaction(async tx => {
    await bookSpending(spender, { ...NOTHING_SPENT, ...amounts }, { store, clock, tx, parts })
    await tx.append([{ actor: 'daemon', subject: id ?? 'daemon', kind: 'model.asked', body }])
  })
}

/** Counts what the models of a brain use. An error is logged, because an opinion does not depend on it. */
export function brainMeter(
  spender: Spender,
  { store, clock, log }: Pick<SessionDeps, 'store' | 'clock'> & { log: Log },
) {
  return async ({ model, costUsd, inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens }: ModelUse) => {
    const tokens = {
      input: inputTokens,
      output: outputTokens,
      cacheRead: cacheReadTokens,
      cacheWrite: cacheWriteTokens,
    }
    const used: AskedUse = {
      ...{ purpose: 'brain', model, input_tokens: inputTokens, output_tokens: outputTokens },
      tokens: inputTokens + outputTokens + cacheWriteTokens,
      cost_usd: costUsd ?? estimateCost(model, tokens) ?? 0,
    }
    await bookAsked(spender, used, { store, clock }).catch(error =>
      log.warn({ error }, 'what a brain used is not counted'),
    )
  }
}

export interface AskedUse extends PurposeAmounts, Partial<Pick<Amounts, 'turns' | 'wall_minutes'>> {
  purpose: Purpose
  model?: string | null | undefined
  input_tokens: number
  output_tokens: number
}

/** Books the time that passes while nothing happens, and stops the session if that used up a budget. */
export async function bookNow({ live, deps }: SessionContext): Promise<void> {
  if (live.row.state === 'ended' || live.agent.session === undefined) return
  let booked: BookedSpending | undefined
  try {
    await deps.store.transaction(async tx => {
      booked = await bookSpent(live, deps, tx)
    })
  } catch (error) {
    booked?.undo() // the commit itself failed: what was taken from the meter is booked next time
    throw error
  }
  if (booked) await stopWhenSpent(booked, live, deps)
}

/** Stops the session if its spending has reached a bound that nobody has raised meanwhile. */
export async function stopWhenSpent(
  { totals, budgets }: Pick<BookedSpending, 'totals' | 'budgets'>,
  live: LiveSession,
  { store, clock }: Pick<SessionDeps, 'store' | 'clock'>,
): Promise<void> {
  if (!findOverrun(totals, budgets) || live.control.pausing !== undefined) return
  try {
    live.settings.budgets = await live.settings.budgetsNow()
  } catch (error) {
    live.log.warn({ error }, 'the settings cannot be read; the budgets stay as they were')
  }
  const current = await withTaskBudget(live.settings.budgets, live.row, store)
  const use = findOverrun(totals, current)
  if (use) tripGuard(live, budgetTrip({ use, budgets: current }, about(live), clock.now()))
}

/** The ending of a session that may spend nothing more. Checked before an agent is opened or a task begins. */
export async function endingIfSpent(live: LiveSession, deps: SessionDeps): Promise<LiveSessionEnding | undefined> {
  const spent = await findSpent(live.row, live.settings.budgets, deps)
  return spent && halted(live, budgetTrip(spent, about(live), deps.clock.now()))
}

/** Checked before the next task begins: other sessions may have spent the rest of the day's or the project's budget. */
export async function stopWhenSpentBeforeNext({ live, deps }: SessionContext): Promise<void> {
  const totals = await readSpendingTotals({ ...live.row, task_id: null }, deps)
  await stopWhenSpent({ totals, budgets: live.settings.budgets }, live, deps)
}

function about({ row, settings: { consent } }: LiveSession): TrippedSession {
  return { id: row.id, task_id: row.task_id, consent }
}

/** Refuses to resume a session without budget: the person is told why, and nothing is changed. */
export async function refuseSpent(row: SessionRow, budgets: Budgets, deps: SessionDeps): Promise<void> {
  const spent = await findSpent(row, budgets, deps)
  if (!spent) return
  const { reason, next } = budgetTrip(spent, { ...row, consent: { autoResume: false } }, deps.clock.now())
  throw new AppError('budget_spent', { reason, remedy: next })
}

interface Halt {
  /** The result of the task, if it was completed first. */
  text?: string | undefined
  /** A limit that was met on the way to the stop. */
  limit?: Limit | undefined
}

/**
 * The ending of a session that a guard has stopped. It resumes by itself where waiting helps; otherwise it waits for a person, with
 * an escalation.
 */
export function halted(live: LiveSession, why: GuardTrip, { text, limit }: Halt = {}): LiveSessionEnding {
  const { guard, reason, next, resumesAt } = why
  const resumesByItself = resumesAt !== undefined
  return {
    as: 'paused',
    reason: `${reason}\n${next}`,
    resumesAt,
    events: [...limitHit(limit, live), ...spentEvent(why, live)],
    task: taskAfter(text, reason, resumesAt),
    checkpoint: guard === 'budget' ? 'capped' : 'error',
    ...(!resumesByItself && {
      escalation: {
        ...errorRow({ kind: 'other', message: reason }, live.row, `${reason}. ${next}`),
        input: { guard, next, failure: { kind: 'other', message: reason } },
      },
    }),
  }
}

function spentEvent({ use }: GuardTrip, live: LiveSession): NewEvent[] {
  return use ? [eventOf(live, 'budget.spent', { ...use, key: budgetKey(use.scope, live.row) }, 'daemon')] : []
}

interface TrippedSession extends Pick<SessionRow, 'id' | 'task_id'> {
  consent: ResumeConsent
}

/** Why a session stops whose budget is spent, what helps, and when it resumes by itself: a day's budget is fresh tomorrow. */
function budgetTrip(spent: SpentBudget, { consent, ...session }: TrippedSession, now: number): GuardTrip {
  const { use } = spent
  const resumesAt = use.scope === 'day' ? (nextAllowedTime(startOfNextDay(now), consent) ?? undefined) : undefined
  return { guard: 'budget', reason: overrunWords(use), next: describeRemedy(spent, session, resumesAt), resumesAt, use }
}

/** The limit that is reached, among all that hold. */
interface SpentBudget {
  use: BudgetUse
  budgets: Budgets
}

/** How a person raises the budget. */
function describeRemedy(
  { use, budgets }: SpentBudget,
  { id: session, task_id }: Pick<SessionRow, 'id' | 'task_id'>,
  resumesAt: number | undefined,
): string {
  const raised = raiseCommand(use)
  switch (use.scope) {
    case 'session':
      return `Raise it with: pcc resume ${session} --budget "${typedAmount(use.measure, advisedLimit(use))}"`
    case 'task':
      return `Raise it with: pcc task update ${task_id} --budget "${typedBudget({ ...budgets.task, [use.measure]: advisedLimit(use) })}"; it goes on by itself then`
    case 'day':
      return resumesAt === undefined
        ? `Raise it with: ${raised}, then: pcc resume ${session}; tomorrow counts anew`
        : `Raise it with: ${raised}; it goes on by itself then, or tomorrow`
    case 'project':
      return `Raise it with: ${raised}, or count from zero with: pcc budget reset; then: pcc resume ${session}`
  }
}

/** The id of the task, session, project or day that the budget is counted for. */
function budgetKey(scope: BudgetScope, row: Pick<SessionRow, 'id' | 'project' | 'task_id'>, now = Date.now()): string {
  return { task: row.task_id ?? '', session: row.id, project: row.project, day: calendarDayOf(now) }[scope]
}
