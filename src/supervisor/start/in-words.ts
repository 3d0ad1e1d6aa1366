import type { Answer } from '../../domain/session.ts'
import type { ParkedQuestion } from '../../store/tables.ts'

/** An answer as the next prompt: the agent took the call's own answer, but its login failed before the model heard it. */
export function inWords({ questions }: ParkedQuestion, answer: Answer): string {
  if ('declined' in answer) return `About your question: ${answer.declined}. Go on with the task.`
  const lines = questions.map(
    ({ question }) => `- ${question} ${[answer.answers[question] ?? '(no answer)'].flat().join(', ')}`,
  )
  return `The answers to your questions are:\n${lines.join('\n')}\nThey count in place of earlier ones. Go on with the task.`
}
