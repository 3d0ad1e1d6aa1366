import { type Amounts, type BudgetLimits, MEASURES, NOTHING_SPENT } from '../../../domain/budget/budget.ts'
import { amountWords } from '../../../domain/budget/words.ts'
import type { AttemptRow, RunRow } from '../../../store/runs/rows.ts'
import type { Store } from '../../../store/store.ts'

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
