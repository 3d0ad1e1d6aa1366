import type { History } from '../history.ts'
import { answerFor } from '../plan/scenario.ts'
import { bodiesOf } from './events.ts'
import type { Violation } from './violation.ts'

/** A question that waited has a number under which it is found, and its answer came to the model. */
export function noQuestionLost(history: History): Violation[] {
  const violation = (text: string): Violation => ({ invariant: 'no-question-lost', text })
  const answered = bodiesOf(history, 'question.answered')
  const open = history.rows.escalations.filter(({ state }) => state === 'open')
  return [
    ...open.map(({ number, kind }) => violation(`decision ${number} (${kind}) is still open`)),
    ...bodiesOf(history, 'question.parked').flatMap(({ subject, body }) => {
      const token = tokenIn(body.questions[0]?.question)
      const row = history.rows.escalations.find(({ number }) => number === body.number)
      if (!row) return [violation(`the question of ${token} has no row (number ${body.number})`)]
      const wanted = answerFor(token)
      const heard = answered.some(
        event => event.subject === subject && Object.values(event.body.answers).flat().includes(wanted),
      )
      return heard
        ? []
        : [violation(`the answer to ${token} did not come to its session (decision ${row.number} is ${row.state})`)]
    }),
  ]
}

function tokenIn(question = ''): string {
  return /Which hue for ([\w-]+)\?/.exec(question)?.[1] ?? question
}
