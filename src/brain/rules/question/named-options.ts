import type { QuestionItem } from '../../../domain/session.ts'
import { holds, tokens } from './tokens.ts'

type Options = QuestionItem['options']

/** The labels of the options that the texts name, and of those that they rule out ("no MongoDB", "avoid Redux"). */
export function namedIn(options: Options, texts: readonly string[]): { named: string[]; forbidden: string[] } {
  const clauses = texts
    .slice(0, MOST_TEXTS)
    .flatMap(text => text.slice(0, LONGEST_TEXT).split(/[.;,\n]|\bbut\b|\binstead\b(?! of)/i))
    .map(clause => ({
      words: tokens(clause),
      against: AGAINST.test(clause),
      // "PostgreSQL instead of MongoDB", "SQLite, not MySQL": what stands behind it is ruled out, what stands before is not.
      split: clause.split(/\b(?:instead of|rather than|over|not|never|no|without|except)\b/i).map(tokens),
    }))
  const forbidden = options.filter(({ label }) =>
    clauses.some(({ against, words, split }) => {
      if (!against || names(label, words) === 0) return false
      const [before = [], ...behind] = split
      return behind.length === 0 || names(label, before) < 2 || behind.some(part => names(label, part) >= 2)
    }),
  )
  const ruledOut = new Set(forbidden.map(option => option.label))
  const ranked = options
    .filter(({ label }) => !ruledOut.has(label))
    .map(({ label }) => ({ label, rank: Math.max(0, ...clauses.map(({ words }) => names(label, words))) }))
    .filter(({ rank }) => rank > 0)
  return { named: clearest(ranked), forbidden: [...ruledOut] }
}

/** A preference or a constraint is a line; what is longer is prose that happens to name things. */
const LONGEST_TEXT = 500
const MOST_TEXTS = 200

const AGAINST =
  /\b(no|not|never|without|avoid|don't|do not|must not|mustn't|forbidden|except|exclude|instead of|rather than|over)\b/i

/** 3: it is the text; 2: the text holds all of it; 1: it holds all of the text; 0: neither. Yes and no are no names. */
function names(label: string, words: readonly string[]): number {
  if (isYesOrNo(label)) return 0
  return Math.max(...spellings(label).map(spelling => rank(spelling, words)))
}

function rank(label: readonly string[], words: readonly string[]): number {
  if (label.length === 0 || words.length === 0) return 0
  if (label.length === words.length && holds(words, label)) return 3
  if (holds(words, label)) return 2
  return holds(label, words) ? 1 : 0
}

/** Whether an option only agrees or refuses: no text names it, only the answer to the question itself. */
function isYesOrNo(label: string): boolean {
  return /^(yes|no|none|neither|both|all|other)\b/i.test(label.trim())
}

/** "JSON Web Tokens (JWT)" goes by either name; what is recommended is no name. */
function spellings(label: string): string[][] {
  const bare = label.replace(/\((recommended|default|empfohlen)\)/gi, '')
  const inside = [...bare.matchAll(/\(([^)]+)\)/g)].map(([, text = '']) => tokens(text))
  return [
    tokens(bare),
    tokens(bare.replace(/\([^)]*\)/g, '')),
    tokens(bare.split(/ [-–—:] /)[0] ?? ''),
    ...inside,
  ].filter(spelling => spelling.length > 0)
}

/** Of "React" and "React Native" the text "React Native" names the second; what is named worse than another is not named. */
function clearest(ranked: { label: string; rank: number }[]): string[] {
  const best = Math.max(0, ...ranked.map(({ rank }) => rank))
  const level = ranked.filter(({ rank }) => (best >= 2 ? rank >= 2 : rank === best))
  const exact = level.filter(({ rank }) => rank === 3)
  const kept = exact.length > 0 && level.every(one => one.rank === 3 || within(one.label, exact)) ? exact : level
  return kept.filter(one => !within(one.label, kept)).map(({ label }) => label)
}

function within(label: string, others: readonly { label: string }[]): boolean {
  const own = tokens(label)
  return others.some(
    other => other.label !== label && tokens(other.label).length > own.length && holds(tokens(other.label), own),
  )
}
