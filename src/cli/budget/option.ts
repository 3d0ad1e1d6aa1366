import { InvalidArgumentError } from 'commander'
import type { BudgetLimits } from '../../domain/budget/budget.ts'
import { parseBudget } from '../../domain/budget/parse.ts'

/** `--budget` as commander reads it: what is wrong with it is said in a sentence. */
export function budgetOption(text: string): BudgetLimits {
  const read = parseBudget(text)
  if ('problem' in read)
    throw new InvalidArgumentError(`${read.problem.charAt(0).toUpperCase()}${read.problem.slice(1)}.`)
  return read.limits
}
