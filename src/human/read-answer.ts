import type { AnswerEscalation, Escalation, EscalationAnswer } from '../domain/escalation.ts'
import type { QuestionItem } from '../domain/session.ts'
import { LONGEST_ANSWER_BYTES, TOO_LONG } from './terminals.ts'

type GivenAnswer = Pick<AnswerEscalation, 'verdict' | 'answer' | 'reason' | 'by' | 'always'>

/**
 * Reads what a person typed as an answer: a verdict for a permission, text or option numbers for a question. If it does not
 * fit, returns the problem as text. Without `questions` the row is a permission.
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
  const texts = [answer ?? []].flat()
  const problem = findProblem(texts, questions)
  if (problem !== undefined) return { problem }
  const chosen: NonNullable<Escalation['answer']> = []
  for (const [index, item] of questions.entries()) {
    const read = readChoice(texts[index]?.trim() ?? '', item)
    if ('problem' in read) return read
    chosen.push(read.chosen)
  }
  return { answer: chosen, reason, by, always }
}

const NO_ALWAYS = 'only the answer to a question is remembered like this; for a permission write a rule: pcc rules add'

function findProblem(texts: string[], questions: readonly QuestionItem[]): string | undefined {
  if (texts.every(text => text.trim() === '')) return 'the answer is empty'
  if (Buffer.byteLength(texts.join('')) > LONGEST_ANSWER_BYTES) return `the answer is ${TOO_LONG}`
  if (texts.length !== questions.length) {
    const asked = questions.length === 1 ? 'one question' : `${questions.length} questions`
    const given = texts.length === 1 ? 'one answer was' : `${texts.length} answers were`
    const example = questions.map((_, index) => `"answer ${index + 1}"`).join(' ')
    return `it asks ${asked}, and ${given} given; put ${questions.length === 1 ? 'it into quotes' : `each into quotes: ${example}`}`
  }
  const blank = texts.findIndex(text => text.trim() === '')
  return blank < 0 ? undefined : `the answer to ${JSON.stringify(questions[blank]?.question)} is empty`
}

/** Numbers are those of the options as shown; anything else is a free answer. */
function readChoice(text: string, { options, multiSelect }: QuestionItem): Choice {
  if (options.length === 0) return { chosen: text }
  const parts = multiSelect ? text.split(',').map(part => part.trim()) : [text]
  const matches = parts.map(part => findOption(part, options))
  const missing = parts.find((part, index) => matches[index] === undefined && /^\d+$/.test(part))
  if (missing !== undefined) {
    return { problem: `there is no option ${missing}: choose 1 to ${options.length}, or say it in words` }
  }
  const labels = matches.filter(label => label !== undefined)
  if (labels.length < parts.length) return { chosen: text }
  return { chosen: multiSelect ? [...new Set(labels)] : (labels[0] ?? text) }
}

type Choice = { chosen: string | string[] } | { problem: string }

function findOption(part: string, options: QuestionItem['options']): string | undefined {
  if (/^\d{1,4}$/.test(part)) {
    const numbered = options[Number(part) - 1]
    if (numbered) return numbered.label
  }
  return options.find(({ label }) => label.toLowerCase() === part.toLowerCase())?.label
}
