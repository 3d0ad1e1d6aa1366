import {
  type Amounts,
  BUDGET_SCOPES,
  type BudgetScope,
  type Budgets,
  type BudgetUse,
  MEASURES,
} from '../../domain/budget/budget.ts'

/** From this share on a person is told, once. */
const WARN_SHARE = 0.8

/** What is spent in each scope; one that a session has nothing to do with is absent. */
export type Totals = Partial<Record<BudgetScope, Amounts>>

/** Every bound there is, with what is spent of it. Pure. */
function usesOf(totals: Totals, budgets: Budgets): BudgetUse[] {
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
 * The bound that is reached, if any. Of several the one that binds longest: a project's stays until a person raises it,
 * a day's is gone tomorrow.
 */
export function overrun(totals: Totals, budgets: Budgets): BudgetUse | undefined {
  const reached = usesOf(totals, budgets).filter(({ spent, limit }) => spent >= limit)
  return LASTING.map(scope => reached.find(use => use.scope === scope)).find(use => use !== undefined)
}

const LASTING: readonly BudgetScope[] = ['project', 'session', 'task', 'day']

/** The bounds whose warning share lies between what was spent before and what is spent now. */
export function warnings(before: Totals, after: Totals, budgets: Budgets): BudgetUse[] {
  const earlier = usesOf(before, budgets)
  return usesOf(after, budgets).filter(({ scope, measure, spent, limit }) => {
    const had = earlier.find(use => use.scope === scope && use.measure === measure)?.spent ?? 0
    return had < limit * WARN_SHARE && spent >= limit * WARN_SHARE && spent < limit
  })
}
