import { amountWords, budgetWords } from '../../../domain/budget/words.ts'
import type { EventBody } from '../../../domain/event.ts'

/** `82% of the session's budget of 5.00 usd is spent`. */
export function budgetText(body: EventBody<'budget.warned'>): string {
  const share = Math.floor((body.spent / body.limit) * 100)
  return `${share}% of ${budgetWords(body)} is spent (${amountWords(body.measure, body.spent)})`
}

/** What a guard saw, and what it did about it. */
export function guardText({ reason, did }: EventBody<'guard.tripped'>): string {
  return `${reason} (${DID[did]})`
}

const DID: Record<EventBody<'guard.tripped'>['did'], string> = {
  told: 'the agent is told',
  paused: 'it stops after the tool in flight',
  interrupted: 'it is interrupted',
  killed: 'what did not stop is ended',
}
