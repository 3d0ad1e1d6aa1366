import type { BrainContext, Opinion } from '../../domain/brain.ts'
import type { QuestionItem } from '../../domain/session.ts'
import { noOpinion } from '../chain.ts'
import { type AskingKind, askingKind, isPolite, isWaitingForAnswer } from './asking.ts'
import { hasOutsideEffect } from './by-yes.ts'
import { findGraveWords } from './grave.ts'
import { answerByRules } from './question.ts'

export interface ProseQuestion {
  question: string
  kind: AskingKind
  /** The end of the turn as it was written: what the question is about. */
  about: string
}

/**
 * The question with which an agent ends its turn instead of acting, or undefined when it reports. The search starts at the end:
 * after a question there may be courtesies, a note that the agent waits, the list it asks about, and a sentence or two about it,
 * but not an answer of its own.
 */
export function questionInProse(text: string): ProseQuestion | undefined {
  const sentences = lastSentences(text)
  let after: Sentence[] = []
  for (let at = sentences.length - 1; at >= 0 && after.length <= MOST_AFTER; at--) {
    const sentence = sentences[at]
    if (!sentence) break
    if (isPolite(sentence.text)) continue
    if (sentence.item && !isAsked(sentence, sentences)) continue
    const listed = sentence.item && sentence.text.endsWith('?') ? 'other' : undefined
    const kind = askingKind(sentence.text, { last: after.length === 0 }) ?? listed
    if (kind !== undefined && !isAnswered(after)) return toQuestion(sentence, kind, { sentences, at, text })
    if (sentence.paragraph !== sentences.at(-1)?.paragraph && after.length > 0 && !sentence.text.endsWith(':')) break
    after = [sentence, ...after]
  }
  return undefined
}

/** The answer to the agent so that the work goes on; not confident when a person has to answer. */
export function answerInProse({ question, kind, about }: ProseQuestion, context: BrainContext): Opinion<string> {
  const grave = kind === 'proceed' ? findGraveWords(about) : undefined
  if (grave !== undefined) return noOpinion('rules', `${grave}: a person decides`)
  if (kind === 'proceed' && hasOutsideEffect(about.slice(-NEAR)))
    return noOpinion('rules', 'it may reach beyond the working copy')
  if (kind === 'proceed' && !question.includes('?') && READABLE.test(about) && WAITS_TO_GO_ON.test(question))
    return { value: GO_AHEAD, confidence: 0.75, reasoning: 'it waits for permission to go on', by: 'rules' }
  const options = kind === 'choice' ? offeredOptions(question, about) : []
  if (kind === 'choice' && options.length === 0 && !/\b(which|what)\b/i.test(question))
    return noOpinion('rules', 'it is a choice, and its options cannot be read')
  const opinion = answerByRules([{ question, header: '', multiSelect: false, options }], context)
  const answer = [opinion.value?.[0] ?? []].flat().join(', ')
  if (!answer) return noOpinion('rules', opinion.reasoning)
  return { ...opinion, value: answer === 'Yes' ? GO_AHEAD : `${answer}. Go on with that.` }
}

/** The agent waits for the word to go on, not for a permission: an agent that asks for permission has a reason. */
const WAITS_TO_GO_ON =
  /^(?!.*\b(?:permission|approv\w*)\b).*\b(?:proceed|continu\w+|go ahead|go-ahead|go on|start|begin|get started|implement\w*|plan|step|update|green light|say the word|confirm|keep going|changes?)\b/i

const GO_AHEAD = 'Yes, go ahead.'
const READABLE = /^[\x20-\x7e\n\t‘’“”–—…•→✓✅]*$/

/** An explanation or two may follow a question; more is a report that contains a question. */
const MOST_AFTER = 2
/** A bare "Shall I proceed?" is about the text right before it. */
const NEAR = 400
const LONGEST_ABOUT = 4_000

function toQuestion(
  sentence: Sentence,
  kind: AskingKind,
  { sentences, at, text }: { sentences: Sentence[]; at: number; text: string },
): ProseQuestion {
  const before = sentences[at - 1]
  // "I'll wait for your answer" and "Please let me know" announce a question that comes before them.
  if (before && isWaitingForAnswer(sentence.text) && !sentence.text.includes('?')) {
    const first = askingKind(before.text, { last: true })
    if (first !== undefined) return { question: before.original, kind: first, about: text.slice(-LONGEST_ABOUT) }
  }
  return { question: sentence.original, kind, about: text.slice(-LONGEST_ABOUT) }
}

/** A list of questions is asked only if the line above it says so; otherwise it lists questions of something else. */
function isAsked(item: Sentence, sentences: Sentence[]): boolean {
  const at = sentences.indexOf(item)
  const head = sentences.slice(0, at).findLast(sentence => !sentence.item)
  return head !== undefined && isWaitingForAnswer(head.text)
}

/** Whether the agent went on by itself: the following sentences say what it did or found. */
function isAnswered(after: readonly Sentence[]): boolean {
  return after.some(({ text, item }) => !item && !isWaitingForAnswer(text) && ANSWERS.test(text))
}

const ANSWERS =
  /^(yes|no|yep|nope|ja|nein|because|only|nothing|perhaps|maybe|probably|so i|done|all (green|tests|good)|the answer|it (is|was|does|did|has|can|turned)\b|i (have )?(also )?(\w+ed|went|chose|kept|left|made|found|wrote|ran|did|built|took|put|set)\b|i've|i'll (go|use|keep|take|start|continue)\b|a missing|this is now|tests pass|see\b|run\b|they\b)/i

/** The options of a choice in prose: the items of the list near it, or "A or B" in the question itself. */
function offeredOptions(question: string, about: string): QuestionItem['options'] {
  const listed = about
    .split('\n')
    .flatMap(line => /^\s*(?:[-*+•]|\(?(?:\d{1,2}|[a-hA-H])[.)])\s+(.+)$/.exec(line)?.[1] ?? [])
    .map(text => text.replace(/\*\*|__|`/g, ''))
  const offered = listed.length > 1 ? listed.map(readOption) : readAlternatives(question)
  return offered.length > 1 && offered.length <= MOST_OPTIONS ? offered : []
}

const MOST_OPTIONS = 8

/** The label of "Option A: polling" is the part after the colon. */
function readOption(text: string): QuestionItem['options'][number] {
  const [, name, rest] = /^(.{1,40}?)(?::| [-–—]) +(.+)$/.exec(text) ?? []
  if (name === undefined || rest === undefined) return { label: text.replace(/[.;]$/, ''), description: '' }
  return /^(option|variant|approach|choice)\b/i.test(name)
    ? { label: rest.replace(/[.;]$/, ''), description: name }
    : { label: name, description: rest }
}

function readAlternatives(question: string): QuestionItem['options'] {
  const [, first, second] =
    /([\w.+#`'-]+(?: [\w.+#`'-]+){0,3}?),? or (?:an? |the )?([\w.+#`'-]+(?: [\w.+#`'-]+){0,3}?)(?: (?:for|in|as|to|with|on|here)\b.*)?\?/i.exec(
      question,
    ) ?? []
  if (first === undefined || second === undefined) return []
  const label = first.replace(/^.*\b(?:use|prefer|want|with|choose|pick|between|either|in|as|the|a|an)\s+/i, '')
  return [label, second].map(text => ({ label: text.replace(/[`']/g, ''), description: '' }))
}

/** A sentence of the agent's own prose: no code, no quotation, no heading, no table. */
interface Sentence {
  /** With ⟨code⟩, ⟨quote⟩ and ⟨link⟩ in place of text that is not the agent's own. */
  text: string
  /** As it was written. */
  original: string
  /** It is an item of a list. */
  item: boolean
  /** Index of its paragraph. */
  paragraph: number
}

/**
 * The agent's own sentences at the end of its turn, in order. Text in quotes ("Should I proceed?" as the title of a dialog), in
 * code, tables, headings and quotations is not the agent's own and asks nothing.
 */
function lastSentences(text: string): Sentence[] {
  const kept: string[] = []
  const replaceWith = (kind: string) => (text: string) => `⟨${kind}#${kept.push(text) - 1}⟩`
  const own = text
    .slice(-LONGEST)
    .replace(/\r\n?/g, '\n')
    .replace(/(```|~~~)[\s\S]*?(?:\1|$)/g, '\n\n')
    .replace(/`[^`\n]*`/g, replaceWith('code'))
    .replace(/https?:\/\/\S+/g, replaceWith('link'))
    .replace(/[“"„«][^"”“»\n]{0,300}["”“»]/g, replaceWith('quote'))
    .replace(/(?<![\p{L}\p{N}])'[^'\n]{2,200}'(?![\p{L}\p{N}])/gu, replaceWith('quote'))
    .replace(/(\*\*|__|\*(?=\S)|(?<=\S)\*)/g, '')
  const restore = (part: string): string => part.replace(MARK, (_, _kind, index) => restore(kept[Number(index)] ?? ''))
  return own
    .split(/\n\s*\n/)
    .flatMap((paragraph, index) => readSentences(paragraph, index))
    .map(sentence => ({ ...sentence, text: sentence.text.replace(MARK, '⟨$1⟩'), original: restore(sentence.text) }))
}

const MARK = /⟨(code|link|quote)#(\d+)⟩/g

/** More than the end of a report; a turn may be very long. */
const LONGEST = 6_000

function readSentences(paragraph: string, index: number): Omit<Sentence, 'original'>[] {
  return joinLines(paragraph).flatMap(line => {
    if (/^\s*(?:>|#{1,6}\s|\||\/\/|⟨code#\d+⟩\s*$)|^(?: {4}|\t)(?!\s*(?:[-*+•]|\d+[.)]))/.test(line)) return []
    const item = ITEM.test(line)
    const content = line.replace(ITEM, '').trim()
    return splitSentences(content).map(text => ({ text, item, paragraph: index }))
  })
}

const ITEM = /^\s*(?:[-*+•]|\(?(?:\d{1,2}|[a-hA-H])[.)])\s+(?:\[[ xX]\]\s+)?/

/** Joins lines that were only wrapped; items, headings, tables and quotations begin a line of their own. */
function joinLines(paragraph: string): string[] {
  const lines: string[] = []
  for (const line of paragraph.split('\n')) {
    const last = lines.at(-1)
    const isNewLine =
      last === undefined ||
      ITEM.test(line) ||
      /^\s*(?:>|#|\||\/\/)|^(?: {4}|\t)/.test(line) ||
      /[:.!?。！？]\s*$/.test(last)
    if (isNewLine || /^\s*(?:>|#|\|)/.test(last)) lines.push(line)
    else lines[lines.length - 1] = `${last} ${line.trim()}`
  }
  return lines
}

function splitSentences(line: string): string[] {
  return line
    .split(/(?<=[.!?…]["')\]]?)\s+(?=[^a-zß-ÿ]|i\b)|(?<=[。！？])/u)
    .map(sentence => sentence.trim())
    .filter(sentence => /[\p{L}\p{N}]/u.test(sentence))
}
