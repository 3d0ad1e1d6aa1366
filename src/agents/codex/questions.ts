import * as z from 'zod'
import type { Answer, Park, Question } from '../../domain/session.ts'
import type { UserInputAsk } from './wire/schemas.ts'

const HumanQuestion = z.object({ question: z.string().min(1), options: z.array(z.string().min(1)).max(9).optional() })

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

/** What our own tool `ask_human` asks; undefined where it cannot be read. */
export function humanQuestion(callId: string, input: unknown): Question | undefined {
  const asked = HumanQuestion.safeParse(input).data
  if (!asked) return undefined
  const options = (asked.options ?? []).map(label => ({ label, description: '' }))
  return { callId, questions: [{ question: asked.question, header: '', multiSelect: false, options }] }
}

/** The answers as Codex wants them, by the ids of its questions. Why there is none is an answer too: the model must hear it. */
export function answered({ questions }: UserInputAsk, reply: Answer | Park) {
  const entries = questions.map(({ id, question }) => {
    const given = 'answers' in reply ? reply.answers[question] : undefined
    return [id, { answers: given === undefined ? [noAnswer(reply)] : [given].flat() }]
  })
  return { answers: Object.fromEntries(entries) }
}

/** Why nobody answered. */
export function noAnswer(reply: Answer | Park): string {
  if ('park' in reply) return `Nobody can answer now (${reply.reason}).`
  return 'declined' in reply
    ? `No answer: ${reply.declined}`
    : 'No answer. Decide by yourself and say what you assumed.'
}
