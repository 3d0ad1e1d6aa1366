import type { Requirements } from '../../../domain/brain/requirements.ts'
import type { QuestionItem } from '../../../domain/session.ts'
import { affirmative, negative } from './affirmative.ts'
import { namedIn } from './named-options.ts'
import type { Thought } from './thought.ts'
import { contentTokens, tokens } from './tokens.ts'

/**
 * What the requirements say to a question: the option that a preference names, or that a constraint leaves. A preference whose
 * key is what the question is about speaks first; a key that has nothing to do with it only counts when its value is an option.
 */
export function byRequirements(item: QuestionItem, { preferences, constraints }: Requirements): Thought | undefined {
  const topic = new Set(contentTokens(`${item.header} ${item.question}`))
  const about = preferences.filter(({ key }) => speaksOf(key, topic))
  const near = about.filter(({ value }) => value.trim() !== '')
  const key = (found: { key: string; value: string }) => `the requirements prefer ${found.key}: ${found.value}`

  if (item.multiSelect && near.length > 1) {
    const all = pick(
      item,
      near.map(({ value }) => value),
    )
    if (all !== undefined) return { answer: all, confidence: 0.9, reasoning: near.map(key).join('; ') }
  }
  for (const preference of near) {
    const answer = yesOrNo(item, preference.value) ?? pick(item, [preference.value])
    if (answer !== undefined) return { answer, confidence: 0.9, reasoning: key(preference) }
  }
  const [only] = near.filter(({ value }) => !isGeneric(value))
  if (item.options.length === 0) {
    if (near.length !== 1 || !only || !asksWhat(item.question)) return undefined
    return { answer: only.value, confidence: 0.85, reasoning: key(only) }
  }
  if (near.length > 0) return undefined // what was written about it fits no option: a person knows why

  const distinct = preferences.map(({ value }) => value).filter(value => !isGeneric(value))
  const named = pick(item, distinct)
  if (named !== undefined)
    return {
      answer: named,
      confidence: 0.8,
      reasoning: `the requirements' preferences name ${[named].flat().join(', ')}`,
    }
  const left = pick(item, constraints)
  if (left === undefined) return undefined
  return {
    answer: left,
    confidence: 0.8,
    reasoning: `the requirements' constraints speak for ${[left].flat().join(', ')}`,
  }
}

/** The option that the texts name, or all of them where several may be chosen; undefined when that is not one clear answer. */
function pick(item: QuestionItem, texts: readonly string[]): string | string[] | undefined {
  const { named, forbidden } = namedIn(item.options, texts)
  if (item.multiSelect) return named.length > 0 ? named : undefined
  if (named.length === 1) return named[0]
  if (named.length > 1 || forbidden.length === 0) return undefined
  const left = item.options.map(option => option.label).filter(label => !forbidden.includes(label))
  return left.length === 1 && forbidden.length === item.options.length - 1 ? left[0] : undefined
}

/** "Docker: no" answers "Should I add Docker?". */
function yesOrNo(item: QuestionItem, value: string): string | string[] | undefined {
  if (asksWhat(item.question)) return undefined
  const said = tokens(value)[0]
  if (said === 'yes') return affirmative(item)
  return said === 'no' || said === 'none' ? negative(item) : undefined
}

function speaksOf(key: string, topic: ReadonlySet<string>): boolean {
  const words = contentTokens(key)
  return words.length > 0 && words.every(word => topic.has(word))
}

/** A value such as "yes" is the answer to one question only: the one that its key asks. */
function isGeneric(value: string): boolean {
  const words = tokens(value)
  return words.length === 0 || words.every(word => GENERIC.has(word) || /^\d+$/.test(word))
}

const GENERIC = new Set(
  'yes no none both all either neither other default standard simple basic minimal auto on off always never required optional'.split(
    ' ',
  ),
)

function asksWhat(question: string): boolean {
  return /\b(which|what|where|how (long|many|much|often))\b/i.test(question)
}
