import type { QuestionItem } from '../../../domain/session.ts'
import { graveWords } from './grave.ts'
import { folded } from './revealed.ts'

/**
 * Why this answer must not be given by a machine, or undefined. A question that asks whether to act counts with all its words;
 * of a choice ("what should the delete button say?") only what would be done counts, and what is chosen always does. A refusal
 * is never grave.
 */
export function graveAnswer(question: QuestionItem, answer: readonly string[]): string | undefined {
  if (answer.every(isRefusal)) return undefined
  const asked = asksWhetherToAct(question, answer)
    ? `${question.header} ${question.question}`
    : deeds(question.question)
  const chosen = question.options.filter(option => answer.includes(option.label)).map(option => option.description)
  return graveWords(asked) ?? graveWords([...answer, ...chosen].join('\n'))
}

/** "No", "Keep it", "Don't delete anything": nothing grave is left when what it refuses is taken away. */
function isRefusal(answer: string): boolean {
  const text = folded(answer)
  if (!REFUSES.test(text) || GRANTS.test(text)) return false
  return graveWords(text.replace(REFUSED, ' ')) === undefined
}

const REFUSES = /^(no|nope|don't|do not|keep|leave|skip|cancel|stop|abort|not|never|neither|none|wait|hold)\b/
const GRANTS =
  /^no (problem|worr|objection|doubt|need|issue|reason|matter)|\b(but|instead|just|except|unless|go ahead|yes)\b/
const REFUSED = /^(cancel|abort|stop|skip)( it| this| that)?$|\b(don't|do not|never|not|without) [^,.;]*/g

function asksWhetherToAct({ question, options }: QuestionItem, answer: readonly string[]): boolean {
  if (
    answer.some(text =>
      /^(y|yes|yeah|yep|ok|okay|sure|proceed|go ahead|continue|approve|confirm|do it)\b/i.test(text.trim()),
    )
  )
    return true
  if (options.length > 0 && options.some(({ label }) => /^(yes|no)\b/i.test(label.trim()))) return true
  return !/^\W*(which|what|where|how|who|when|why)\b/i.test(question)
}

/** What would be done: the words behind "should I", "want me to", "let me"; and what is secret, whatever is done with it. */
function deeds(question: string): string {
  const parts = question.split(ACTORS)
  const secret = /\b(?:secret|credential|private key|api key)s?\b/i.exec(question)?.[0]
  if (secret !== undefined) return secret
  if (parts.length > 1) return parts.slice(1).join('\n')
  return /\b(should|would|do|does|is|are|will|can)\b/i.test(question) ? '' : question
}

const ACTORS =
  /\b(?:(?:should|shall|can|may|could|must|will|would) (?:i|we)|me to|us to|let me|let's|i'll|i will|we'll|going to|need to|have to|about to|want to)\b/i
