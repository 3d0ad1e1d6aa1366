import * as z from 'zod'
import { QuestionItem } from '../domain/session.ts'

/** The name under which agents ask; a question that is remembered is one of this tool. */
export const QUESTION_TOOL = 'AskUserQuestion'

const Input = z.object({ questions: z.array(QuestionItem).min(1) })

/** The parts of a question as its row keeps them; nothing where they were too long to be kept. */
export function questionsIn(input: Record<string, unknown>): QuestionItem[] | undefined {
  return Input.safeParse(input).data?.questions
}

/** One spelling for questions that are the same: neither case, blanks and full stops count nor the order of the options. */
export function normalisedQuestion({ question, options, multiSelect }: QuestionItem): string {
  const choices = options.map(option => normalisedLabel(option.label))
  // "Option A" says nothing: what it stands for makes the question.
  const told = choices.some(isBareName)
    ? options.map(({ label, description }) => `${normalisedLabel(label)}: ${normalisedText(description)}`)
    : choices
  const ways = told.length === 0 ? '' : ` ${multiSelect ? 'any' : 'one'} of ${JSON.stringify([...told].sort())}`
  return `${normalisedText(question)}${ways}`
}

/** The same for all parts of a question, in their order. */
export function normalisedQuestions(questions: readonly QuestionItem[]): string {
  return questions.map(normalisedQuestion).join('\n')
}

/** Agents mark the option they would take; that is no part of its name. */
export function normalisedLabel(label: string): string {
  return normalisedText(normalisedText(label).replace(/ ?\((recommended|default)\)$/, ''))
}

/**
 * Whether a question means the same the next time its words are said. "Should I go on with this?" does not: what it is
 * about stands somewhere else, and a yes to it must not be a yes to everything. One that names its options does.
 */
export function isSelfContained({ question, options }: QuestionItem): boolean {
  const choices = options.map(option => normalisedLabel(option.label))
  if (choices.length > 1 && !choices.every(choice => isBareName(choice) || YES_OR_NO.test(choice))) return true
  const text = normalisedText(question)
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

function normalisedText(text: string): string {
  const plain = text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/\p{Cf}/gu, '')
  return plain
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()
    .replace(/[ ?!.:;…]+$/, '')
}
