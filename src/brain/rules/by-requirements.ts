import type { Requirements } from '../../domain/brain.ts'
import type { QuestionItem } from '../../domain/session.ts'
import { foldText } from './grave.ts'

/** The answer of one rule to one question; a rule without an answer returns undefined instead. */
export interface RuleAnswer {
  answer: string | string[]
  confidence: number
  reasoning: string
}

/**
 * The answer of the requirements to a question: the option that a preference names, or that a constraint leaves. Preferences
 * whose key is the topic of the question come first; a preference with another key only counts when its value is an option.
 */
export function byRequirements(item: QuestionItem, { preferences, constraints }: Requirements): RuleAnswer | undefined {
  const topic = new Set(contentTokens(`${item.header} ${item.question}`))
  const onTopic = preferences.filter(({ key, value }) => isAbout(key, topic) && value.trim() !== '')
  const explain = ({ key, value }: { key: string; value: string }) => `the requirements prefer ${key}: ${value}`

  if (item.multiSelect && onTopic.length > 1) {
    const all = pick(
      item,
      onTopic.map(({ value }) => value),
    )
    if (all !== undefined) return { answer: all, confidence: 0.9, reasoning: onTopic.map(explain).join('; ') }
  }
  for (const preference of onTopic) {
    const answer = yesOrNo(item, preference.value) ?? pick(item, [preference.value])
    if (answer !== undefined) return { answer, confidence: 0.9, reasoning: explain(preference) }
  }
  const [only] = onTopic.filter(({ value }) => !isGeneric(value))
  if (item.options.length === 0) {
    if (onTopic.length !== 1 || !only || !asksWhat(item.question)) return undefined
    return { answer: only.value, confidence: 0.85, reasoning: explain(only) }
  }
  if (onTopic.length > 0) return undefined // the preference fits no option: a person knows why

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
    reasoning: `the requirements' constraints leave ${[left].flat().join(', ')}`,
  }
}

/** The option that the texts name, or all of them if several may be chosen; undefined when there is no clear answer. */
function pick(item: QuestionItem, texts: readonly string[]): string | string[] | undefined {
  const { named, forbidden } = findNamedOption(item.options, texts)
  if (item.multiSelect) return named.length > 0 ? named : undefined
  if (named.length === 1) return named[0]
  if (named.length > 1 || forbidden.length === 0) return undefined
  const left = item.options.map(option => option.label).filter(label => !forbidden.includes(label))
  return left.length === 1 && forbidden.length === item.options.length - 1 ? left[0] : undefined
}

/** "Docker: no" answers "Should I add Docker?". */
function yesOrNo(item: QuestionItem, value: string): string | string[] | undefined {
  if (asksWhat(item.question)) return undefined
  const word = tokens(value)[0]
  if (word === 'yes') return findAffirmative(item)
  return word === 'no' || word === 'none' ? findNegative(item) : undefined
}

function isAbout(key: string, topic: ReadonlySet<string>): boolean {
  const words = contentTokens(key)
  return words.length > 0 && words.every(word => topic.has(word))
}

/** Whether a value such as "yes" only answers the question that its key asks. */
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

/** "No" to what a constraint forbids: every word of "no new dependencies" is in "Should I add new dependencies?". */
export function byProhibition(item: QuestionItem, { constraints }: Requirements): RuleAnswer | undefined {
  const questionWords = new Set(contentTokens(item.question))
  const prohibition = constraints.find(constraint => {
    if (!FORBIDS.test(constraint)) return false
    const words = contentTokens(constraint).filter(word => !FORBIDDING.has(word))
    return words.length > 0 && words.every(word => questionWords.has(word))
  })
  if (prohibition === undefined || !/\b(should|shall|may|can|want me|like me|ok|okay)\b/i.test(item.question))
    return undefined
  const answer = findNegative(item)
  return answer === undefined
    ? undefined
    : { answer, confidence: 0.75, reasoning: `the requirements say "${prohibition}"` }
}

const FORBIDS = /^\W*(no|never|avoid|do not|don't|must not|mustn't|without)\b/i
const FORBIDDING = new Set('no never avoid do not don t must mustn without new any introduce'.split(' '))

type Options = QuestionItem['options']

/** The labels of the options that the texts name, and of those that they rule out ("no MongoDB", "avoid Redux"). */
function findNamedOption(options: Options, texts: readonly string[]): { named: string[]; forbidden: string[] } {
  const clauses = texts
    .slice(0, MOST_TEXTS)
    .flatMap(text => text.slice(0, LONGEST_TEXT).split(/[.;,\n]|\bbut\b|\binstead\b(?! of)/i))
    .map(clause => ({
      words: tokens(clause),
      against: AGAINST.test(clause),
      // "PostgreSQL instead of MongoDB", "SQLite, not MySQL": the part after it is ruled out, the part before is not.
      split: clause.split(/\b(?:instead of|rather than|over|not|never|no|without|except)\b/i).map(tokens),
    }))
  const forbidden = options.filter(({ label }) =>
    clauses.some(({ against, words, split }) => {
      if (!against || rankName(label, words) === 0) return false
      const [before = [], ...after] = split
      return after.length === 0 || rankName(label, before) < 2 || after.some(part => rankName(label, part) >= 2)
    }),
  )
  const ruledOut = new Set(forbidden.map(option => option.label))
  const ranked = options
    .filter(({ label }) => !ruledOut.has(label))
    .map(({ label }) => ({ label, rank: Math.max(0, ...clauses.map(({ words }) => rankName(label, words))) }))
    .filter(({ rank }) => rank > 0)
  return { named: keepClearest(ranked), forbidden: [...ruledOut] }
}

/** A preference or a constraint is a line; longer text is prose that happens to name things. */
const LONGEST_TEXT = 500
const MOST_TEXTS = 200

const AGAINST =
  /\b(no|not|never|without|avoid|don't|do not|must not|mustn't|forbidden|except|exclude|instead of|rather than|over)\b/i

/** How well words name a label. 3: they are equal; 2: the words contain the label; 1: the label contains the words; 0: neither. Yes and no are no names. */
function rankName(label: string, words: readonly string[]): number {
  if (isYesOrNo(label)) return 0
  return Math.max(...spellings(label).map(spelling => rank(spelling, words)))
}

function rank(label: readonly string[], words: readonly string[]): number {
  if (label.length === 0 || words.length === 0) return 0
  if (label.length === words.length && hasTokens(words, label)) return 3
  if (hasTokens(words, label)) return 2
  return hasTokens(label, words) ? 1 : 0
}

/** Whether an option only agrees or refuses: no text can name it. */
function isYesOrNo(label: string): boolean {
  return /^(yes|no|none|neither|both|all|other)\b/i.test(label.trim())
}

/** "JSON Web Tokens (JWT)" has both names; "(recommended)" is no name. */
function spellings(label: string): string[][] {
  const name = label.replace(/\((recommended|default|empfohlen)\)/gi, '')
  const inside = [...name.matchAll(/\(([^)]+)\)/g)].map(([, text = '']) => tokens(text))
  return [
    tokens(name),
    tokens(name.replace(/\([^)]*\)/g, '')),
    tokens(name.split(/ [-–—:] /)[0] ?? ''),
    ...inside,
  ].filter(spelling => spelling.length > 0)
}

/** Keeps the labels that are named best: of "React" and "React Native" the text "React Native" names the second. */
function keepClearest(ranked: { label: string; rank: number }[]): string[] {
  const best = Math.max(0, ...ranked.map(({ rank }) => rank))
  const level = ranked.filter(({ rank }) => (best >= 2 ? rank >= 2 : rank === best))
  const exact = level.filter(({ rank }) => rank === 3)
  const kept =
    exact.length > 0 && level.every(({ label, rank }) => rank === 3 || isPartOf(label, exact)) ? exact : level
  return kept.filter(({ label }) => !isPartOf(label, kept)).map(({ label }) => label)
}

function isPartOf(label: string, others: readonly { label: string }[]): boolean {
  const own = tokens(label)
  return others.some(
    other => other.label !== label && tokens(other.label).length > own.length && hasTokens(tokens(other.label), own),
  )
}

/** The label for "yes": the only option that agrees, or the word itself if there are no options. */
export function findAffirmative({ options, multiSelect }: QuestionItem): string | string[] | undefined {
  const label = options.length === 0 ? 'Yes' : findOnly(options, AGREES)
  return label === undefined || !multiSelect ? label : [label]
}

/** The label for "no", in the same way. */
function findNegative({ options, multiSelect }: QuestionItem): string | string[] | undefined {
  const label = options.length === 0 ? 'No' : findOnly(options, REFUSES)
  return label === undefined || !multiSelect ? label : [label]
}

const AGREES =
  /^(y|yes|yep|yeah|ok|okay|sure|proceed|continue|go ahead|go on|do it|approve|approved|confirm|looks good|start|begin|keep going)\b/i
const REFUSES = /^(n|no|nope|don't|do not|skip|leave|not now|cancel)\b/i

/** The only fitting option. "Yes" and "Yes, with tests" both agree: then the plain one, if there is one. */
function findOnly(options: QuestionItem['options'], pattern: RegExp): string | undefined {
  const fitting = options.filter(({ label }) => pattern.test(label.trim()))
  if (fitting.length === 1) return fitting[0]?.label
  const plain = fitting.filter(({ label }) =>
    /^(yes|no|proceed|continue|ok|okay)\W*(\(recommended\))?$/i.test(label.trim()),
  )
  return plain.length === 1 ? plain[0]?.label : undefined
}

/** The words of a text in a normal form: lower case, singular, without everyday short forms. */
function tokens(text: string): string[] {
  return (foldText(text).match(/[\p{L}\p{N}][\p{L}\p{N}+#]*(?:\.[\p{L}\p{N}]+)*/gu) ?? []).map(normalizeToken)
}

/** The words that carry the meaning of a text. */
function contentTokens(text: string): string[] {
  return tokens(text).filter(token => !STOP_WORDS.has(token))
}

/** Whether `whole` contains `part` in one piece and in order. */
function hasTokens(whole: readonly string[], part: readonly string[]): boolean {
  if (part.length === 0) return false
  return whole.some((_, start) => part.every((token, index) => whole[start + index] === token))
}

function normalizeToken(token: string): string {
  const synonym = SYNONYMS.get(token)
  if (synonym) return synonym
  const singular =
    /[^s]s$/.test(token) && token.length > 4 && !/(is|us|css|js|os)$/.test(token) ? token.slice(0, -1) : token
  return SYNONYMS.get(singular) ?? singular
}

const SYNONYMS = new Map(
  `postgresql postgres pg psql|mongodb mongo|javascript js|typescript ts|kubernetes k8s|python py python3|golang go|database db databases
authentication auth authorization authorisation login|node.js node nodejs|next.js next nextjs|vue.js vue vuejs|react.js reactjs|test testing tests spec specs
style styling styles css|directory folder dir|repository repo|configuration config|documentation docs doc|jwt jwts|mysql my-sql|sqlite sqlite3
tailwind tailwindcss|expiry expiration expires lifetime ttl|yes yep yeah true|no nope false|log logging logger logs|package packages dependency dependencies`
    .split(/[|\n]/)
    .flatMap(line => {
      const [first = '', ...others] = line.split(' ')
      return others.map(other => [other, first] as const)
    }),
)

const STOP_WORDS = new Set(
  `a an the this that these those it its i we you me us my our your to of for in on at by with from as is are be been was were do does did
should shall can could may might must will would want like prefer use using used which what where how who when if or and not so also please
there any some all new one ones would-be need needs have has into about than then now up out want ok okay project code app application
add adds adding make making let more other just each per via whether here`.split(/\s+/),
)
