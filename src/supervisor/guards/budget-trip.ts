import { nextAllowed } from '../../agents/limits/consent.ts'
import type { BudgetScope, BudgetUse } from '../../domain/budget/budget.ts'
import { amountWords, budgetWords, typedAmount } from '../../domain/budget/words.ts'
import type { SessionRow } from '../../store/tables.ts'
import { dayOf, nextDay } from '../../tasks/budgets/day.ts'
import type { Run, Trip } from '../run.ts'

/** Why a session stops whose budget is spent, what helps, and when it goes on by itself: a day's budget is fresh tomorrow. */
export function budgetTrip(use: BudgetUse, run: Pick<Run, 'id' | 'consent'>, now: number): Trip {
  const resumesAt = use.scope === 'day' ? (nextAllowed(nextDay(now), run.consent) ?? undefined) : undefined
  const reason = `${capital(budgetWords(use))} is spent (${amountWords(use.measure, use.spent)})`
  return { guard: 'budget', reason, next: remedy(use, run.id), resumesAt, use }
}

/** How a person raises it. */
function remedy({ scope, measure, limit }: BudgetUse, session: string): string {
  const raised = `pcc config set budgets.${scope}.${measure} ${Math.ceil(limit * 2)}`
  switch (scope) {
    case 'session':
      return `Raise it with: pcc resume ${session} --budget "${typedAmount(measure, limit * 2)}"`
    case 'task':
      return `Raise it with: ${raised}, then: pcc resume ${session}`
    case 'day':
      return `Raise it with: ${raised}, then: pcc resume ${session}; tomorrow counts anew`
    case 'project':
      return `Raise it with: ${raised}, or count from zero with: pcc budget reset; then: pcc resume ${session}`
  }
}

/** Of what the budget is counted. */
export function keyOf(
  scope: BudgetScope,
  row: Pick<SessionRow, 'id' | 'project' | 'task_id'>,
  now = Date.now(),
): string {
  return { task: row.task_id ?? '', session: row.id, project: row.project, day: dayOf(now) }[scope]
}

function capital(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`
}
