import type { History } from '../history.ts'
import { answerFor } from '../plan/scenario.ts'
import { bodiesOf } from './events.ts'
import type { Violation } from './violation.ts'

/** A parked question has a number under which it can be found, and the vendor's log shows that the model got the answer. */
export function noQuestionLost(history: History): Violation[] {
  const violation = (text: string): Violation => ({ invariant: 'no-question-lost', text })
  const open = history.rows.escalations.filter(({ state }) => state === 'open')
  return [
    ...open.map(({ number, kind }) => violation(`decision ${number} (${kind}) is still open`)),
    ...bodiesOf(history, 'question.parked').flatMap(({ body }) => {
      const token = tokenIn(body.questions[0]?.question)
      const row = history.rows.escalations.find(({ number }) => number === body.number)
      if (!row) return [violation(`the question of ${token} has no row (number ${body.number})`)]
      if (history.calls.some(({ heard }) => heard.includes(answerFor(token)))) return []
      return [violation(`the model never heard the answer to ${token} (decision ${row.number} is ${row.state})`)]
    }),
  ]
}

function tokenIn(question = ''): string {
  return /Which hue for ([\w-]+)\?/.exec(question)?.[1] ?? question
}
