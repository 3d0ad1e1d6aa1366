import { amountWords, budgetWords } from '../../../domain/budget/words.ts'
import type { EventOf } from '../../../domain/event.ts'
import type { Notice } from '../notice.ts'

/** A budget is nearly spent, or the day's is: told once for each budget, whichever session met it. */
export function budgetNotice(event: EventOf<'budget.warned'> | EventOf<'budget.spent'>): Notice | undefined {
  const { kind, body } = event
  // Of the others a decision tells, which waits for the person.
  if (kind === 'budget.spent' && body.scope !== 'day') return undefined
  const share = kind === 'budget.spent' ? 'all' : `${Math.floor((body.spent / body.limit) * 100)} %`
  return {
    kind: 'rate_limit',
    key: `${kind}:${body.scope}:${body.key}:${body.measure}:${body.limit}`,
    title: `${share} of ${budgetWords(body)} is spent`,
    text: `${amountWords(body.measure, body.spent)} of ${amountWords(body.measure, body.limit)}. See: pcc budget`,
  }
}
