import { DAY_MS } from '../base/clock.ts'
import { type KnownWords, queryTokens } from '../base/tokens.ts'
import type { MemoryItem } from '../domain/memory.ts'
import { meanAt } from './learn/belief.ts'
import { knob, type PolicyValues } from './learn/policy.ts'

/** An item, and how well it fits: BM25 of its words and those beside it, or what else counts too. */
export interface RankedItem {
  item: MemoryItem
  score: number
  /** How near its meaning is to the question, where vectors say so: then it need not share a word with it. */
  near?: number | undefined
}

/**
 * What else counts besides an item's own words. In a conversation the turn with the answer often shares no word with the question: it answers
 * the turn before. `npm run eval -- --memory` measures what each is worth.
 */
export interface RankWeights {
  /** The words of the episodes beside it, while its own count 1. */
  around: number
  /** How well the rest of its session fits. */
  session: number
  /** For whoever speaks, if the question names them. */
  speaker: number
  /** For the day or month that the question names. */
  date: number
  recency: number
  /** How much a turn loses that says little itself, or only asks. */
  content: number
}

export const RANK_WEIGHTS: RankWeights = {
  around: 0.7,
  session: 0.15,
  speaker: 0.5,
  date: 0.3,
  recency: 0.05,
  content: 1,
}

interface RankContext {
  query: string
  now: number
  policy: PolicyValues
  weights?: RankWeights
}

/** Found items, the best first. Pure. */
export function rankItems(
  found: readonly RankedItem[],
  { query, now, policy, weights = RANK_WEIGHTS }: RankContext,
): RankedItem[] {
  const most = Math.max(1e-9, ...found.map(({ score }) => score))
  const lexical = ({ score }: RankedItem) => score / most
  const sessions = scoreSessions(found.map(each => ({ session: each.item.session, score: lexical(each) })))
  const speakers = new Set(found.flatMap(({ item }) => speakerOf(item.text) ?? []))
  const named = namesIn(query, speakers)
  const date = readDate(query)
  const isAboutNow = /\b(last|latest|lately|recent(ly)?|current(ly)?|now|today|newest|still)\b/i.test(query)
  const worth = knob(policy, 'recall.worth')
  const known: KnownWords = new Map()
  return found
    .map(each => {
      const { item } = each
      const speaker = speakerOf(item.text)
      const isNamed = speaker !== undefined && named.has(speaker)
      const age = Math.max(0, now - item.updated_at) / DAY_MS
      const score =
        lexical(each) * (1 + (isNamed ? weights.speaker : 0)) +
        weights.session * (sessions.get(item.session ?? '') ?? 0) +
        (date?.(item.created_at) ? weights.date : 0) +
        weights.recency * (isAboutNow ? 4 : 1) * 2 ** (-age / 30)
      const substance = 1 - weights.content * (1 - contentOf(item, known))
      return { item, score: score * substance * (1 + worth * (worthOf(item, now, policy) - 0.5)) }
    })
    .toSorted((a, b) => b.score - a.score || b.item.updated_at - a.item.updated_at || (a.item.id < b.item.id ? -1 : 1))
}

/** From 0 to 1: how well an item has done, and how important it is. An episode is what happened, and no success makes it truer. */
export function worthOf(item: MemoryItem, now: number, policy: PolicyValues): number {
  if (item.kind === 'episode') return 0.5
  return (meanAt(item, now, knob(policy, 'advice.half_life_days')) + item.importance) / 2
}

/** From 0 to 1: how much an episode tells. "Really? How was that?" is beside many an answer and is none. */
function contentOf({ kind, text }: MemoryItem, known: KnownWords): number {
  if (kind !== 'episode') return 1
  const words = queryTokens(text.slice(0, LONGEST_TURN), known).length
  return (words / (words + 2)) * (/\?\s*$/.test(text) ? 0.7 : 1)
}

const LONGEST_TURN = 2_000

/** The best three of a session say how well it fits as a whole. */
function scoreSessions(scored: readonly { session: string | null; score: number }[]): Map<string, number> {
  const sums = new Map<string, number>()
  for (const [session, all] of Map.groupBy(scored, each => each.session ?? '')) {
    const best = all.map(({ score }) => score).toSorted((a, b) => b - a)
    if (session !== '') sums.set(session, best.slice(0, 3).reduce((sum, score) => sum + score, 0) / 3)
  }
  const most = Math.max(1e-9, ...sums.values())
  return new Map([...sums].map(([session, sum]) => [session, sum / most]))
}

/** The name before a colon at the beginning of a text, as conversations are written down. */
function speakerOf(text: string): string | undefined {
  return /^\s*\[?(\p{L}[\p{L}\p{N}_ .-]{0,30}?)\]?\s*:\s/u.exec(text)?.[1]?.toLowerCase()
}

function namesIn(query: string, speakers: ReadonlySet<string>): Set<string> {
  const words = new Set(query.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [])
  return new Set([...speakers].filter(name => name.split(/[ .-]+/).some(part => words.has(part))))
}

const MONTHS = [
  'january',
  'february',
  'march',
  'april',
  'may',
  'june',
  'july',
  'august',
  'september',
  'october',
  'november',
  'december',
]

/** "may" is a word, too: as a month it stands beside a number or after "in". */
function namesMonth(text: string, name: string): boolean {
  if (name === 'may') return /\b(in|of|last|\d+) may\b|\bmay \d/.test(text)
  return new RegExp(`\\b${name}\\b`).test(text)
}

/** Whether a time is in what a question names: a day (2026-11-17, 17 November 2026), a month or a year. Undefined if it names none. */
export function readDate(query: string): ((time: number) => boolean) | undefined {
  const text = query.toLowerCase()
  const iso = /\b((?:19|20)\d\d)-(\d\d)(?:-(\d\d))?\b/.exec(text)
  const named = MONTHS.findIndex(name => namesMonth(text, name))
  const month = iso ? Number(iso[2]) - 1 : named
  const year = Number(iso?.[1] ?? /\b((?:19|20)\d\d)\b/.exec(text)?.[1] ?? Number.NaN)
  const name = MONTHS[named]
  const beside =
    name === undefined
      ? undefined
      : new RegExp(`\\b(\\d{1,2})(?:st|nd|rd|th)?,? (?:of )?${name}\\b|\\b${name} (\\d{1,2})\\b`).exec(text)
  const day = Number(iso?.[3] ?? beside?.[1] ?? beside?.[2] ?? Number.NaN)
  if (month < 0 && Number.isNaN(year)) return undefined
  return time => {
    const date = new Date(time)
    if (!Number.isNaN(year) && date.getUTCFullYear() !== year) return false
    if (month >= 0 && date.getUTCMonth() !== month) return false
    return Number.isNaN(day) || date.getUTCDate() === day
  }
}
