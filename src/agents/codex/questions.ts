import type { Answer, Park, Question } from '../../domain/session.ts'
import { noAnswer } from '../own-tools/human-question.ts'
import type { UserInputAsk } from './wire/schemas.ts'

/** What Codex asks a person, in our own words. It knows no question with several answers. */
export function questionOf({ itemId, questions }: UserInputAsk): Question {
  return {
    callId: itemId,
    questions: questions.map(({ question, header, options }) => ({
      question,
      header,
      multiSelect: false,
      options: (options ?? []).map(({ label, description }) => ({ label, description })),
    })),
  }
}

/** The answers as Codex wants them, by the ids of its questions. Why there is none is an answer too: the model must hear it. */
export function answered({ questions }: UserInputAsk, reply: Answer | Park) {
  const entries = questions.map(({ id, question }) => {
    const given = 'answers' in reply ? reply.answers[question] : undefined
    return [id, { answers: given === undefined ? [noAnswer(reply)] : [given].flat() }]
  })
  return { answers: Object.fromEntries(entries) }
}
