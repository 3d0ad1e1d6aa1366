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
    const kind = askingKind(sentence.text, { last: behind.length === 0 }) ?? listed
    if (kind !== undefined && !isAnswered(behind)) return asked(sentence, kind, { sentences, at, text })
    if (sentence.paragraph !== sentences.at(-1)?.paragraph && behind.length > 0 && !sentence.text.endsWith(':')) break
    behind = [sentence, ...behind]
  }
  return undefined
}

/** What is said to the agent so that the work goes on; not confident when a person has to say it. */
export function answerInProse({ question, kind, about }: ProseQuestion, context: BrainContext): Opinion<string> {
  const grave = kind === 'proceed' ? findGraveWords(about) : undefined
  if (grave !== undefined) return noOpinion('rules', `${grave}: a person decides`)
  if (kind === 'proceed' && hasOutsideEffect(about.slice(-NEAR)))
    return noOpinion('rules', 'it may reach beyond the working copy')
  if (kind === 'proceed' && !question.includes('?') && READABLE.test(about) && WAITS_TO_GO_ON.test(question))
    return { value: GO_AHEAD, confidence: 0.75, reasoning: 'it waits for leave to go on', by: 'rules' }
  const options = kind === 'choice' ? offeredOptions(question, about) : []
  if (kind === 'choice' && options.length === 0 && !/\b(which|what)\b/i.test(question))
    return noOpinion('rules', 'it is a choice, and what it is between cannot be read')
  const opinion = answerByRules([{ question, header: '', multiSelect: false, options }], context)
  const said = [opinion.value?.[0] ?? []].flat().join(', ')
  if (!said) return noOpinion('rules', opinion.reasoning)
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
  if (before && isWaitingForAnswer(sentence.text) && !sentence.text.includes('?')) {
    const first = askingKind(before.text, { last: true })
    if (first !== undefined) return { question: before.original, kind: first, about: text.slice(-LONGEST_ABOUT) }
  }
  return { question: sentence.original, kind, about: text.slice(-LONGEST_ABOUT) }
}

/** A list of questions is asked when the line above it says so; otherwise it is a list of something's questions. */
function isAsked(item: Sentence, sentences: Sentence[]): boolean {
  const at = sentences.indexOf(item)
  const head = sentences.slice(0, at).findLast(sentence => !sentence.item)
  return head !== undefined && isWaitingForAnswer(head.text)
}

/** Whether the agent went on by itself: what follows tells what it did or found. */
function isAnswered(behind: readonly Sentence[]): boolean {
  return behind.some(({ text, item }) => !item && !isWaitingForAnswer(text) && ANSWERS.test(text))
}

const ANSWERS =
  /^(yes|no|yep|nope|ja|nein|because|only|nothing|perhaps|maybe|probably|so i|done|all (green|tests|good)|the answer|it (is|was|does|did|has|can|turned)\b|i (have )?(also )?(\w+ed|went|chose|kept|left|made|found|wrote|ran|did|built|took|put|set)\b|i've|i'll (go|use|keep|take|start|continue)\b|a missing|this is now|tests pass|see\b|run\b|they\b)/i

/** What a choice in prose is between: the items of the list beside it, or "A or B" in the question itself. */
function offeredOptions(question: string, about: string): QuestionItem['options'] {
  const listed = about
    .split('\n')
    .flatMap(line => /^\s*(?:[-*+•]|\(?(?:\d{1,2}|[a-hA-H])[.)])\s+(.+)$/.exec(line)?.[1] ?? [])
    .map(text => text.replace(/\*\*|__|`/g, ''))
  const offered = listed.length > 1 ? listed.map(optionOf) : alternatives(question)
  return offered.length > 1 && offered.length <= MOST ? offered : []
}

const MOST = 8

/** "Option A: polling" is called by what stands behind the colon as well. */
function optionOf(text: string): QuestionItem['options'][number] {
  const [, name, rest] = /^(.{1,40}?)(?::| [-–—]) +(.+)$/.exec(text) ?? []
  if (name === undefined || rest === undefined) return { label: text.replace(/[.;]$/, ''), description: '' }
  return /^(option|variant|approach|choice)\b/i.test(name)
    ? { label: rest.replace(/[.;]$/, ''), description: name }
    : { label: name, description: rest }
}

function alternatives(question: string): QuestionItem['options'] {
  const [, first, second] =
    /([\w.+#`'-]+(?: [\w.+#`'-]+){0,3}?),? or (?:an? |the )?([\w.+#`'-]+(?: [\w.+#`'-]+){0,3}?)(?: (?:for|in|as|to|with|on|here)\b.*)?\?/i.exec(
      question,
    ) ?? []
  if (first === undefined || second === undefined) return []
  const bare = first.replace(/^.*\b(?:use|prefer|want|with|choose|pick|between|either|in|as|the|a|an)\s+/i, '')
  return [bare, second].map(label => ({ label: label.replace(/[`']/g, ''), description: '' }))
}

/** A sentence of the agent's own prose: no code, no quotation, no heading, no table. */
interface Sentence {
  /** With ⟨code⟩, ⟨quote⟩ and ⟨link⟩ in the place of what is not its own. */
  text: string
  /** As it was written. */
  original: string
  /** It is an item of a list. */
  item: boolean
  /** Number of its paragraph, from the top. */
  paragraph: number
}

/**
 * The agent's own words at the end of its turn, in order. What it quotes ("Should I proceed?" as the title of a dialog), what
 * stands in code, tables, headings and quotations is somebody else's, and can ask nothing.
 */
function lastSentences(text: string): Sentence[] {
  const kept: string[] = []
  const put = (kind: string) => (found: string) => `⟨${kind}#${kept.push(found) - 1}⟩`
  const own = text
    .slice(-LONGEST)
    .replace(/\r\n?/g, '\n')
    .replace(/(```|~~~)[\s\S]*?(?:\1|$)/g, '\n\n')
    .replace(/`[^`\n]*`/g, put('code'))
    .replace(/https?:\/\/\S+/g, put('link'))
    .replace(/[“"„«][^"”“»\n]{0,300}["”“»]/g, put('quote'))
    .replace(/(?<![\p{L}\p{N}])'[^'\n]{2,200}'(?![\p{L}\p{N}])/gu, put('quote'))
    .replace(/(\*\*|__|\*(?=\S)|(?<=\S)\*)/g, '')
  const restored = (part: string): string =>
    part.replace(MARK, (_, _kind, index) => restored(kept[Number(index)] ?? ''))
  return own
    .split(/\n\s*\n/)
    .flatMap((paragraph, index) => sentencesOf(paragraph, index))
    .map(sentence => ({ ...sentence, text: sentence.text.replace(MARK, '⟨$1⟩'), original: restored(sentence.text) }))
}

const MARK = /⟨(code|link|quote)#(\d+)⟩/g

/** More than a report's end has; a turn may be a book. */
const LONGEST = 6_000

function sentencesOf(paragraph: string, index: number): Omit<Sentence, 'original'>[] {
  return joinedLines(paragraph).flatMap(line => {
    if (/^\s*(?:>|#{1,6}\s|\||\/\/|⟨code#\d+⟩\s*$)|^(?: {4}|\t)(?!\s*(?:[-*+•]|\d+[.)]))/.test(line)) return []
    const item = ITEM.test(line)
    const bare = line.replace(ITEM, '').trim()
    return split(bare).map(text => ({ text, item, paragraph: index }))
  })
}

const ITEM = /^\s*(?:[-*+•]|\(?(?:\d{1,2}|[a-hA-H])[.)])\s+(?:\[[ xX]\]\s+)?/

/** Lines that were only wrapped belong together; items, headings, tables and quotations begin a line of their own. */
function joinedLines(paragraph: string): string[] {
  const lines: string[] = []
  for (const line of paragraph.split('\n')) {
    const last = lines.at(-1)
    const begins =
      last === undefined ||
      ITEM.test(line) ||
      /^\s*(?:>|#|\||\/\/)|^(?: {4}|\t)/.test(line) ||
      /[:.!?。！？]\s*$/.test(last)
    if (begins || /^\s*(?:>|#|\|)/.test(last)) lines.push(line)
    else lines[lines.length - 1] = `${last} ${line.trim()}`
  }
  return lines
}

function split(line: string): string[] {
  return line
    .split(/(?<=[.!?…]["')\]]?)\s+(?=[^a-zß-ÿ]|i\b)|(?<=[。！？])/u)
    .map(sentence => sentence.trim())
    .filter(sentence => /[\p{L}\p{N}]/u.test(sentence))
}
