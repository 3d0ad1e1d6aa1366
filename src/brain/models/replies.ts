import * as z from 'zod'
import type { AnswerValue } from '../../domain/brain/brain.ts'
import type { QuestionItem } from '../../domain/session.ts'

const judged = {
  confidence: z.number().describe('from 0 to 1'),
  reasoning: z.string().describe('one sentence'),
}

/** What a model replies to questions; no answers at all when it cannot tell. */
export const AnswersReply = z.object({
  answers: z
    .array(z.object({ chosen: z.array(z.string()).describe('exact labels, or one text where there are no options') }))
    .describe('one per question, in order; empty when unsure'),
  ...judged,
})

export const PermissionReply = z.object({ approve: z.boolean(), ...judged })

export const SummaryReply = z.object({ summary: z.string(), ...judged })

/** A text longer than this is no answer to a question. */
const LONGEST_ANSWER = 2_000

/** The answers as the agent takes them, or what is wrong with them in words that the model can go by. */
export function readAnswers(
  reply: z.infer<typeof AnswersReply>,
  questions: QuestionItem[],
): { value: AnswerValue } | { problem: string } {
  if (reply.answers.length !== questions.length)
    return { problem: `there are ${questions.length} questions and ${reply.answers.length} entries in "answers"` }
  const value: AnswerValue = []
  for (const [index, question] of questions.entries()) {
    const chosen = (reply.answers[index]?.chosen ?? []).map(each => each.trim()).filter(each => each !== '')
    const read = readAnswer(chosen, question)
    if ('problem' in read) return { problem: `answer ${index + 1}: ${read.problem}` }
    value.push(read.answer)
  }
  return { value }
}

function readAnswer(chosen: string[], question: QuestionItem): { answer: string | string[] } | { problem: string } {
  const [first] = chosen
  if (first === undefined) return { problem: 'nothing is chosen' }
  if (chosen.length > 1 && !question.multiSelect) return { problem: 'only one may be chosen' }
  if (question.options.length === 0) {
    const text = chosen.join(', ')
    return text.length > LONGEST_ANSWER
      ? { problem: `it is longer than ${LONGEST_ANSWER} characters` }
      : { answer: text }
  }
  const labels = chosen.map(each => labelOf(each, question))
  if (!labels.every(label => label !== undefined))
    return { problem: `"${first.slice(0, 100)}" is not one of the labels, which are to be given exactly` }
  return { answer: question.multiSelect ? [...new Set(labels)] : (labels[0] ?? first) }
}

/** Exactly, or but for case and spaces (some of which we put there ourselves, see `claude-judge.ts`) where only one label is meant. */
function labelOf(given: string, { options }: QuestionItem): string | undefined {
  const labels = options.map(({ label }) => label)
  if (labels.includes(given)) return given
  const near = labels.filter(label => folded(label) === folded(given))
  return near.length === 1 ? near[0] : undefined
}

function folded(text: string): string {
  return text.normalize('NFKC').toLowerCase().replace(/\s+/g, ' ').replaceAll('@ ', '@').trim()
}
