import type { NewEvent } from '../../domain/event.ts'
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

/** What is stored of it. */
export function answeredInWords(subject: string, { call_id }: ParkedQuestion, answer: Answer): NewEvent {
  const told = 'answers' in answer ? { answers: answer.answers } : { answers: {}, declined: answer.declined }
  return { actor: 'human', subject, kind: 'question.answered', body: { call_id, ...told, by: answer.by } }
}
