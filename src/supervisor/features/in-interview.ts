import type { Answer, Park, Question } from '../../domain/session.ts'
import { onQuestion } from '../asks/on-question.ts'
import type { Desk } from '../run.ts'

/** What a person types who has said enough. */
const ENOUGH = /^\s*\/?(done|enough|stop)[.!]?\s*$/i

const WRITE_NOW =
  'The person says that this is enough. Ask nothing more: write the spec now from what you know, and name what is open in it.'

/** A question of an interview. A person who says `done` is asked nothing more: the agent is told to write. */
export async function inInterview(question: Question, signal: AbortSignal, desk: Desk): Promise<Answer | Park> {
  const { run, parts } = desk
  const before = await parts.store.events({ subject: run.id, kinds: ['question.answered'] })
  const isOver = before.some(({ kind, body }) => kind === 'question.answered' && isEnough(Object.values(body.answers)))
  if (isOver) return { declined: WRITE_NOW, by: 'human' }
  const answer = await onQuestion(question, signal, desk)
  const isDone = 'answers' in answer && isEnough(Object.values(answer.answers))
  return isDone ? { declined: WRITE_NOW, by: answer.by } : answer
}

function isEnough(answers: readonly (string | string[])[]): boolean {
  return answers.flat().some(text => ENOUGH.test(text))
}
