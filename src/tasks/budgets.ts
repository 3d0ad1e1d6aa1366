import { type Clock, MINUTE_MS } from '../base/clock.ts'
import {
  type Amounts,
  BUDGET_SCOPES,
  type BudgetScope,
  type Budgets,
  type BudgetUse,
  eachMeasure,
  MEASURES,
  NOTHING_SPENT,
  type SpentByPurpose,
} from '../domain/budget.ts'
import type { SpendingKey } from '../store/spending.ts'
import type { Store, Tx } from '../store/store.ts'
import type { SpendingRow } from '../store/tables.ts'

/** The session that spends, with its project and task. */
export interface Spender {
  /** Null for a question that belongs to no session. */
  id: string | null
  project: string
  task_id: string | null
}

export interface LedgerDeps {
  store: Pick<Store, 'spending'>
  clock: Clock
}

/** The rows that count what a session spends now. */
function spendingKeys({ id, project, task_id }: Spender, now: number): SpendingKey[] {
  const keys: Record<BudgetScope, string | null> = { task: task_id, session: id, day: calendarDayOf(now), project }
  return BUDGET_SCOPES.flatMap(scope => {
    const key = keys[scope]
    return key === null ? [] : [{ scope, key }]
  })
}

/** The spending so far in every scope that the session belongs to. */
export async function readSpendingTotals(
  spender: Spender,
  { store, clock }: LedgerDeps,
  tx?: Tx,
): Promise<SpendingTotals> {
  const keys = spendingKeys(spender, clock.now())
  return { ...zeros(keys), ...byScope(await store.spending.of(keys, tx)) }
}

/** The limits of a session with its task: what the task itself may spend replaces, measure by measure, what the settings allow any task. */
export async function withTaskBudget(
  budgets: Budgets,
  { task_id }: Pick<Spender, 'task_id'>,
  { tasks }: Pick<Store, 'tasks'>,
  tx?: Tx,
): Promise<Budgets> {
  const task = task_id === null ? undefined : await tasks.get(task_id, tx)
  return task?.budget == null ? budgets : { ...budgets, task: { ...budgets.task, ...JSON.parse(task.budget) } }
}

/** The limit that a session, or its task, has reached, with all limits that hold for it. */
export async function findSpent(
  spender: Spender,
  settings: Budgets,
  { store, clock }: { store: Pick<Store, 'spending' | 'tasks'>; clock: Clock },
): Promise<{ use: BudgetUse; budgets: Budgets } | undefined> {
  const budgets = await withTaskBudget(settings, spender, store)
  const use = findOverrun(await readSpendingTotals(spender, { store, clock }), budgets)
  return use && { use, budgets }
}

/** Books what was spent, in the caller's transaction, and returns the totals before and after. `parts`: what of it was not work. */
export async function bookSpending(
  spender: Spender,
  amounts: Amounts,
  { store, clock, tx, parts }: LedgerDeps & { tx: Tx; parts?: Partial<SpentByPurpose> },
): Promise<{ before: SpendingTotals; after: SpendingTotals }> {
  const at = clock.now()
  const after = byScope(await store.spending.add(spendingKeys(spender, at), { amounts, at, parts }, tx))
  const before = Object.fromEntries(
    Object.entries(after).map(([scope, total]) => [scope, subtract(total, amounts)]),
  ) as SpendingTotals
  return { before, after }
}

function byScope(rows: SpendingRow[]): SpendingTotals {
  return Object.fromEntries(rows.map(({ scope, key: _, updated_at: __, ...amounts }) => [scope, amounts]))
}

function zeros(keys: SpendingKey[]): SpendingTotals {
  return Object.fromEntries(keys.map(({ scope }): [BudgetScope, Amounts] => [scope, NOTHING_SPENT]))
}

function subtract(a: Amounts, b: Amounts): Amounts {
  return eachMeasure(measure => a[measure] - b[measure])
}

/** At this share of a limit a person is warned, once. */
const WARN_SHARE = 0.8

/** The spending in each scope; scopes that the session does not belong to are absent. */
export type SpendingTotals = Partial<Record<BudgetScope, Amounts>>

/** Every limit that is set, with what is spent of it. */
function budgetUses(totals: SpendingTotals, budgets: Budgets): BudgetUse[] {
  return BUDGET_SCOPES.flatMap(scope => {
    const spent = totals[scope]
    if (!spent) return []
    return MEASURES.flatMap(measure => {
      const limit = budgets[scope][measure]
      return limit === undefined ? [] : [{ scope, measure, spent: spent[measure], limit }]
    })
  })
}

/**
 * The limit that is reached, if any. Of several, the one that lasts longest: a project's stays until a person raises it, a day's
 * is over tomorrow.
 */
export function findOverrun(totals: SpendingTotals, budgets: Budgets): BudgetUse | undefined {
  const reached = budgetUses(totals, budgets).filter(({ spent, limit }) => spent >= limit)
  return reached.toSorted((a, b) => LASTING[b.scope] - LASTING[a.scope])[0]
}

/** A higher number lasts longer. */
const LASTING: Record<BudgetScope, number> = { project: 4, session: 3, task: 2, day: 1 }

/** The limits whose warning share was passed between the spending before and now. */
export function findBudgetWarnings(before: SpendingTotals, after: SpendingTotals, budgets: Budgets): BudgetUse[] {
  const earlier = budgetUses(before, budgets)
  return budgetUses(after, budgets).filter(({ scope, measure, spent, limit }) => {
    const spentBefore = earlier.find(use => use.scope === scope && use.measure === measure)?.spent ?? 0
    return spentBefore < limit * WARN_SHARE && spent >= limit * WARN_SHARE && spent < limit
  })
}

/** A longer time between two readings means that the machine slept or its clock was set: then no work was done. */
const SLEPT_MS = 90_000

/**
 * Counts what a session spends while its agent is open, so that each amount is booked once. An agent reports totals since it was
 * opened, and corrects them: the meter keeps the newest totals and how much of them was booked. Time is counted only while
 * `running` is true.
 */
export class SpendingMeter {
  #seen: Amounts
  #booked: Amounts
  #at: number | undefined

  constructor(turnsBefore: number) {
    this.#seen = { ...NOTHING_SPENT, turns: turnsBefore }
    this.#booked = this.#seen
  }

  /** Takes the agent's newest totals. */
  saw(totals: Partial<Omit<Amounts, 'wall_minutes'>>): void {
    this.#seen = { ...this.#seen, ...totals }
  }

  /** Counts the time since the last call, unless `running` is false: no work is done while a person is asked. */
  passes(now: number, running: boolean): void {
    const since = this.#at === undefined ? 0 : now - this.#at
    if (running && since > 0 && since <= SLEPT_MS) {
      this.#seen = { ...this.#seen, wall_minutes: this.#seen.wall_minutes + since / MINUTE_MS }
    }
    this.#at = now
  }

  /**
   * What has to be booked now; undefined if there is nothing, or only so little time that it can wait. Call `undo` if it could
   * not be booked.
   */
  take({ all = false } = {}): { amounts: Amounts; undo(): void } | undefined {
    const amounts = eachMeasure(measure => this.#seen[measure] - this.#booked[measure])
    const { wall_minutes, ...rest } = amounts
    const isOnlyTime = Object.values(rest).every(amount => Math.abs(amount) < TINY)
    if (isOnlyTime && (wall_minutes < TINY || (!all && wall_minutes < CAN_WAIT_MINUTES))) return undefined
    this.#booked = this.#seen
    return { amounts, undo: () => this.#unbook(amounts) }
  }

  /** Subtracts the amounts instead of restoring the old totals: others may have been booked meanwhile. */
  #unbook(amounts: Amounts): void {
    this.#booked = eachMeasure(measure => this.#booked[measure] - amounts[measure])
  }
}

/** A smaller amount is a rounding error. */
const TINY = 1e-9
/** Time passes with every event: it is booked with another amount, or when this much has accumulated. */
const CAN_WAIT_MINUTES = 0.5

/** The calendar day of a moment on this machine's own clock: `2026-11-15`. */
export function calendarDayOf(time: number): string {
  const date = new Date(time)
  const two = (part: number) => String(part).padStart(2, '0')
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
}

/** The first moment of the next day. A day may have 23 or 25 hours, so the calendar is used. */
export function startOfNextDay(time: number): number {
  const date = new Date(time)
  return new Date(date.getFullYear(), date.getMonth(), date.getDate() + 1).getTime()
}
