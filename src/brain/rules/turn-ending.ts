import type { BrainContext, Opinion } from '../../domain/brain/brain.ts'
import { notConfident } from '../opinion.ts'
import { asking, isPolite, saysItWaits } from './ending/asking.ts'
import type { AskingKind } from './ending/asking-kind.ts'
import { offeredOptions } from './ending/offered-options.ts'
import { lastSentences, type Sentence } from './ending/sentences.ts'
import { graveWords } from './grave/grave.ts'
import { reachesOutside } from './question/about-code.ts'
import { answerByRules } from './question.ts'

export interface ProseQuestion {
  question: string
  kind: AskingKind
  /** The end of the turn, as it was written: what the question is about. */
  about: string
}

/**
 * The question with which an agent ends its turn instead of acting, or undefined when it reports. It is looked for from the
 * end: behind a question may stand courtesies, that the agent waits, the list it asks about, and a word or two about it; not
 * an answer of its own.
 */
export function questionInProse(text: string): ProseQuestion | undefined {
  const sentences = lastSentences(text)
  let behind: Sentence[] = []
  for (let at = sentences.length - 1; at >= 0 && behind.length <= MOST_BEHIND; at--) {
    const sentence = sentences[at]
    if (!sentence) break
    if (isPolite(sentence.text)) continue
    if (sentence.item && !isAsked(sentence, sentences)) continue
    const listed = sentence.item && sentence.text.endsWith('?') ? 'other' : undefined
    const kind = asking(sentence.text, { last: behind.length === 0 }) ?? listed
    if (kind !== undefined && !isAnswered(behind)) return asked(sentence, kind, { sentences, at, text })
    if (sentence.paragraph !== sentences.at(-1)?.paragraph && behind.length > 0 && !sentence.text.endsWith(':')) break
    behind = [sentence, ...behind]
  }
  return undefined
}

/** What is said to the agent so that the work goes on; not confident when a person has to say it. */
export function answerInProse({ question, kind, about }: ProseQuestion, context: BrainContext): Opinion<string> {
  const grave = kind === 'proceed' ? graveWords(about) : undefined
  if (grave !== undefined) return notConfident('rules', `${grave}: a person decides`)
  if (kind === 'proceed' && reachesOutside(about.slice(-NEAR)))
    return notConfident('rules', 'it may reach beyond the working copy')
  if (kind === 'proceed' && !question.includes('?') && READABLE.test(about) && WAITS_TO_GO_ON.test(question))
    return { value: GO_AHEAD, confidence: 0.75, reasoning: 'it waits for leave to go on', by: 'rules' }
  const options = kind === 'choice' ? offeredOptions(question, about) : []
  if (kind === 'choice' && options.length === 0 && !/\b(which|what)\b/i.test(question))
    return notConfident('rules', 'it is a choice, and what it is between cannot be read')
  const opinion = answerByRules([{ question, header: '', multiSelect: false, options }], context)
  const said = [opinion.value?.[0] ?? []].flat().join(', ')
  if (!said) return notConfident('rules', opinion.reasoning)
  return { ...opinion, value: said === 'Yes' ? GO_AHEAD : `${said}. Go on with that.` }
}

/** It waits for the word to go on, and not for a permission: who asks for that has a reason to. */
const WAITS_TO_GO_ON =
  /^(?!.*\b(?:permission|approv\w*)\b).*\b(?:proceed|continu\w+|go ahead|go-ahead|go on|start|begin|get started|implement\w*|plan|step|update|green light|say the word|confirm|keep going|changes?)\b/i

const GO_AHEAD = 'Yes, go ahead.'
const READABLE = /^[\x20-\x7e\n\t‘’“”–—…•→✓✅]*$/

/** An explanation or two may follow a question; more is a report that has a question in it. */
const MOST_BEHIND = 2
/** What a bare "Shall I proceed?" is about stands right before it. */
const NEAR = 400
const LONGEST_ABOUT = 4_000

function asked(
  sentence: Sentence,
  kind: AskingKind,
  { sentences, at, text }: { sentences: Sentence[]; at: number; text: string },
): ProseQuestion {
  const before = sentences[at - 1]
  // "I'll wait for your answer" and "Please let me know" say that there is a question, and the question stands before them.
  if (before && saysItWaits(sentence.text) && !sentence.text.includes('?')) {
    const first = asking(before.text, { last: true })
    if (first !== undefined) return { question: before.original, kind: first, about: text.slice(-LONGEST_ABOUT) }
  }
  return { question: sentence.original, kind, about: text.slice(-LONGEST_ABOUT) }
}

/** A list of questions is asked when the line above it says so; otherwise it is a list of something's questions. */
function isAsked(item: Sentence, sentences: Sentence[]): boolean {
  const at = sentences.indexOf(item)
  const head = sentences.slice(0, at).findLast(sentence => !sentence.item)
  return head !== undefined && saysItWaits(head.text)
}

/** Whether the agent went on by itself: what follows tells what it did or found. */
function isAnswered(behind: readonly Sentence[]): boolean {
  return behind.some(({ text, item }) => !item && !saysItWaits(text) && ANSWERS.test(text))
}

const ANSWERS =
  /^(yes|no|yep|nope|ja|nein|because|only|nothing|perhaps|maybe|probably|so i|done|all (green|tests|good)|the answer|it (is|was|does|did|has|can|turned)\b|i (have )?(also )?(\w+ed|went|chose|kept|left|made|found|wrote|ran|did|built|took|put|set)\b|i've|i'll (go|use|keep|take|start|continue)\b|a missing|this is now|tests pass|see\b|run\b|they\b)/i
