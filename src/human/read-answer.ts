import type { AnswerEscalation, Escalation, EscalationAnswer } from '../domain/escalation.ts'
import type { QuestionItem } from '../domain/session.ts'
import { LONGEST_ANSWER_BYTES, TOO_LONG } from './terminals.ts'

type GivenAnswer = Pick<AnswerEscalation, 'verdict' | 'answer' | 'reason' | 'by' | 'always'>

/**
 * What a person typed, as an answer to what is asked: a verdict to a permission, words or option numbers to a question.
 * What does not fit comes back as a problem in words. Without `questions` the row is a permission.
 */
export function readAnswer(
  { verdict, answer, reason, by, always }: GivenAnswer,
  questions: readonly QuestionItem[] | undefined,
): EscalationAnswer | { problem: string } {
  if (verdict !== undefined && answer !== undefined) return { problem: 'it is either a verdict or an answer' }
  if (always && (!questions || answer === undefined)) return { problem: NO_ALWAYS }
  if (!questions) {
    if (verdict === undefined) return { problem: 'it is a permission: say --approve or --deny' }
    return { verdict, reason, by }
  }
  if (verdict === 'allow') return { problem: 'it is a question: give an answer, or --deny to give none' }
  if (verdict === 'deny') return { verdict, reason, by }
  const words = [answer ?? []].flat()
  const misfit = problemOf(words, questions)
  if (misfit !== undefined) return { problem: misfit }
  const chosen: NonNullable<Escalation['answer']> = []
  for (const [index, item] of questions.entries()) {
    const read = choice(words[index]?.trim() ?? '', item)
    if ('problem' in read) return read
    chosen.push(read.chosen)
  }
  return { answer: chosen, reason, by, always }
}

const NO_ALWAYS = 'only the answer to a question is remembered like this; for a permission write a rule: pcc rules add'

function problemOf(words: string[], questions: readonly QuestionItem[]): string | undefined {
  if (words.every(word => word.trim() === '')) return 'the answer is empty'
  if (Buffer.byteLength(words.join('')) > LONGEST_ANSWER_BYTES) return `the answer is ${TOO_LONG}`
  if (words.length !== questions.length) {
    const asked = questions.length === 1 ? 'one question' : `${questions.length} questions`
    const given = words.length === 1 ? 'one answer was' : `${words.length} answers were`
    return `it asks ${asked}, and ${given} given; put each into quotes`
  }
  const blank = words.findIndex(word => word.trim() === '')
  return blank < 0 ? undefined : `the answer to ${JSON.stringify(questions[blank]?.question)} is empty`
}

/** Numbers are those of the options as they are shown; whatever else is typed is an answer in words. */
function choice(text: string, { options, multiSelect }: QuestionItem): Read {
  if (options.length === 0) return { chosen: text }
  const parts = multiSelect ? text.split(',').map(part => part.trim()) : [text]
  const found = parts.map(part => optionOf(part, options))
  const missing = parts.find((part, index) => found[index] === undefined && /^\d+$/.test(part))
  if (missing !== undefined) {
    return { problem: `there is no option ${missing}: choose 1 to ${options.length}, or say it in words` }
  }
  const labels = found.filter(label => label !== undefined)
  if (labels.length < parts.length) return { chosen: text }
  return { chosen: multiSelect ? [...new Set(labels)] : (labels[0] ?? text) }
}

type Read = { chosen: string | string[] } | { problem: string }

function optionOf(part: string, options: QuestionItem['options']): string | undefined {
  if (/^\d{1,4}$/.test(part)) {
    const numbered = options[Number(part) - 1]
    if (numbered) return numbered.label
  }
  return options.find(({ label }) => label.toLowerCase() === part.toLowerCase())?.label
}
