import * as z from 'zod'
import { QuestionItem } from '../domain/session.ts'

/** The name of the tool with which agents ask questions; remembered questions are stored under it. */
export const QUESTION_TOOL = 'AskUserQuestion'

const Input = z.object({ questions: z.array(QuestionItem).min(1) })

/** The parts of a question as its row keeps them; undefined if they were too long to be kept. */
export function questionsIn(input: Record<string, unknown>): QuestionItem[] | undefined {
  return Input.safeParse(input).data?.questions
}

/** One spelling for all questions that are the same: case, blanks, final punctuation and the order of options do not count. */
export function normaliseQuestion({ question, options, multiSelect }: QuestionItem): string {
  const choices = options.map(option => normaliseLabel(option.label))
  // A label such as "Option A" says nothing, so the descriptions belong to the question.
  const described = choices.some(isBareName)
    ? options.map(({ label, description }) => `${normaliseLabel(label)}: ${normaliseText(description)}`)
    : choices
  const suffix =
    described.length === 0 ? '' : ` ${multiSelect ? 'any' : 'one'} of ${JSON.stringify([...described].sort())}`
  return `${normaliseText(question)}${suffix}`
}

/** The same for all parts of a question, in their order. */
export function normaliseQuestions(questions: readonly QuestionItem[]): string {
  return questions.map(normaliseQuestion).join('\n')
}

/** Agents mark the option that they recommend; the mark is no part of its name. */
export function normaliseLabel(label: string): string {
  return normaliseText(normaliseText(label).replace(/ ?\((recommended|default)\)$/, ''))
}

/**
 * Whether a question means the same when it is asked again. "Should I go on with this?" does not: its subject is somewhere else,
 * and a yes to it must not be a yes to everything. A question that names its options does.
 */
export function isSelfContained({ question, options }: QuestionItem): boolean {
  const choices = options.map(option => normaliseLabel(option.label))
  if (choices.length > 1 && !choices.every(choice => isBareName(choice) || YES_OR_NO.test(choice))) return true
  const text = normaliseText(question)
  return !POINTS_ELSEWHERE.test(text) && !GOES_ON.test(text)
}

const POINTS_ELSEWHERE = /\b(this|that|these|those|it|its|them|they|above|below|following|here|so|same|such)\b/
const GOES_ON = /\b(proceed|continue|go on|go ahead|carry on|next|ready|anything else|correct|right|okay|ok|sure)\b/
const YES_OR_NO = /^(yes|no|yep|nope|y|n|ok|okay|true|false|cancel|stop|abort|skip|continue|proceed|go ahead)\b/

function isBareName(label: string): boolean {
  return /^((option|choice|approach|plan|variant|alternative|version|solution) )?#?([a-z]|\d{1,2}|one|two|three|four|first|second|third|fourth)$/.test(
    label,
  )
}

function normaliseText(text: string): string {
  const plain = text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/\p{Cf}/gu, '')
  return plain
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()
    .replace(/[ ?!.:;…]+$/, '')
}
