import * as z from 'zod'
import type { Answer, Park, Question } from '../../domain/session.ts'

const HumanQuestion = z.object({ question: z.string().min(1), options: z.array(z.string().min(1)).max(9).optional() })

/** What our own tool `ask_human` asks; undefined where it cannot be read. */
export function humanQuestion(callId: string, input: unknown): Question | undefined {
  const asked = HumanQuestion.safeParse(input).data
  if (!asked) return undefined
  const options = (asked.options ?? []).map(label => ({ label, description: '' }))
  return { callId, questions: [{ question: asked.question, header: '', multiSelect: false, options }] }
}

/** Why nobody answered. */
export function noAnswer(reply: Answer | Park): string {
  if ('park' in reply) return `Nobody can answer now (${reply.reason}).`
  return 'declined' in reply
    ? `No answer: ${reply.declined}`
    : 'No answer. Decide by yourself and say what you assumed.'
}
