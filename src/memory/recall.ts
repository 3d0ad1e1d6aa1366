import { DAY_MS } from '../base/clock.ts'
import { type KnownWords, queryTokens, tokensOfNames } from '../base/tokens.ts'
import type { ItemKind, MemoryItem, MemoryScope, RecalledItem } from '../domain/memory.ts'
import { decay, PRIOR } from './learn/belief.ts'
import { overlap, summarise } from './learn/importance.ts'
import { knob, type PolicyValues } from './learn/policy.ts'
import { isPattern, matchesLine } from './learn/triggers.ts'
import { type RankedItem, worthOf } from './rank-items.ts'

/** Most of each class: items and tokens. Together eleven items and 1,200 tokens. */
const CLASSES: Record<ItemKind, { items: number; tokens: number }> = {
  procedure: { items: 3, tokens: 300 },
  fact: { items: 3, tokens: 300 },
  anti_pattern: { items: 2, tokens: 200 },
  episode: { items: 3, tokens: 400 },
}

const SCOPES: Record<MemoryScope, number> = { session: 4, agent: 3, project: 8, global: 3 }
/** Longer texts are cut: one item must not take the room of its class. */
const LONGEST_TEXT = 560
/** With more words in common, two items say the same. */
const SAME_SHARE = 0.6
/** How much an item loses for saying what a better one has said. */
const DIVERSITY = 0.5

export interface RecallContext {
  /** What is about to be done, or asked. */
  text: string
  now: number
  policy: PolicyValues
  /** The git blob of a file of the project; undefined if there is none. */
  blobOf?: ((path: string) => string | undefined) | undefined
  /** What the project's own instructions say: they outrank memory. */
  projectText?: string | undefined
}

/**
 * What is shown of what was found: few, different from one another, each with its source; nothing if nothing fits. `standing` are lessons of the
 * project that need not share a word with the text: that a command fails here matters to every task. Pure.
 */
export function recall(
  found: readonly RankedItem[],
  standing: readonly MemoryItem[],
  context: RecallContext,
): RecalledItem[] {
  const { text, now, policy } = context
  const words: KnownWords = new Map()
  const query = new Set(queryTokens(text, words))
  const fits = ({ item, near }: RankedItem) => {
    // A person has said when it is meant.
    if (item.trigger && isPattern(item.trigger)) return matchesLine(item.trigger, text)
    return near !== undefined || fitOf(query, item, words) >= knob(policy, 'recall.threshold')
  }
  const fitting = found.filter(each => mayShow(each.item, context) && fits(each))
  const ids = new Set(fitting.map(({ item }) => item.id))
  const always = standing
    .filter(item => isStanding(item) && mayShow(item, context) && !ids.has(item.id))
    .map(item => ({ item, worth: worthOf(item, now, policy) }))
    .filter(({ worth }) => worth >= LEAST_STANDING)
    .map(({ item, worth }) => ({ item, score: STANDING_SCORE * worth }))
  return fill(diversify([...fitting, ...always], words), now)
}

/** How well something that shares no word with the task must have done to be shown all the same. */
const LEAST_STANDING = 0.5
const STANDING_SCORE = 0.5

/** What an agent saw once, or only said, is shown only where it fits. */
function isStanding(item: MemoryItem): boolean {
  const { kind, type, authority, successes } = item
  if (isOnlySaid(item) || (item.trigger && isPattern(item.trigger))) return false
  if (authority !== 'person' && (authority === 'agent' || kind === 'anti_pattern') && successes < 2) return false
  return kind === 'procedure' || kind === 'anti_pattern' || (kind === 'fact' && type === 'preference')
}

/** Whether only agents say it, and nothing that happened supports it. How often they say it does not matter: all may repeat a text that they read. */
function isOnlySaid({ authority, evidence }: MemoryItem): boolean {
  return authority === 'agent' && !evidence.some(each => /^(event|hook|attempt|commit):/.test(each))
}

/** Whether an item may be shown at all. What comes from outside never is, and decisions about permissions are not the agent's to read. */
function mayShow(item: MemoryItem, { blobOf, projectText, now, policy }: RecallContext): boolean {
  if (item.ended_at !== null || item.authority === 'external' || item.type === 'permission') return false
  if (item.kind === 'procedure' && item.failures > item.successes) return false
  if (item.kind === 'anti_pattern' && isFaded(item, now, policy)) return false
  if (blobOf && isStale(item, blobOf)) return false
  return !(item.kind === 'fact' && projectText !== undefined && isSaidIn(projectText, item.subject ?? ''))
}

/** Whether nobody has seen for long that something does not work, or it works as often: it must be seen again. */
function isFaded(item: MemoryItem, now: number, policy: PolicyValues): boolean {
  const { alpha, beta } = decay(item, now, knob(policy, 'advice.half_life_days'))
  return alpha - PRIOR.alpha < LEAST_EVIDENCE || alpha - PRIOR.alpha <= beta - PRIOR.beta
}

/** What an agent saw once counts for half a year, and what a gate saw for nine months. */
const LEAST_EVIDENCE = 0.0625

/** Whether a file that a fact speaks of is no longer what it was: the fact must be found true again. @public */
export function isStale({ about }: Pick<MemoryItem, 'about'>, blobOf: (path: string) => string | undefined): boolean {
  return about.some(({ path, blob }) => blobOf(path) !== blob)
}

/** Whether the project's own files speak of a subject: all its words are in one paragraph. */
function isSaidIn(text: string, subject: string): boolean {
  const words = queryTokens(subject)
  if (words.length === 0) return false
  return text.split(/\n\s*\n/).some(paragraph => {
    const there = new Set(tokensOfNames(paragraph))
    return words.every(word => there.has(word))
  })
}

/** How well an item fits a question: the larger of the shares of their words that the other has, as far as there are several. */
function fitOf(query: ReadonlySet<string>, { text, subject, trigger }: MemoryItem, known: KnownWords): number {
  const words = new Set(queryTokens(`${text} ${subject ?? ''} ${trigger?.text ?? ''}`, known))
  const common = query.intersection(words).size
  if (common === 0 || query.size === 0) return 0
  // One common word says little where both have many.
  const isChance = common === 1 && Math.min(query.size, words.size) > 3
  return Math.max(common / query.size, common / words.size) * (isChance ? 0.5 : 1)
}

/** Orders by score less what was said already (maximal marginal relevance); the same said twice is dropped. */
function diversify(ranked: readonly RankedItem[], known: KnownWords): RankedItem[] {
  const left = ranked
    .slice(0, MOST_COMPARED)
    .map(each => ({ ...each, words: new Set(tokensOfNames(each.item.text, known)), said: 0 }))
  const chosen: RankedItem[] = []
  while (left.length > 0 && chosen.length < MOST_CHOSEN) {
    const value = (each: { score: number; said: number }) => each.score * (1 - DIVERSITY * each.said)
    const best = left.reduce((a, b) => (value(b) > value(a) ? b : a))
    chosen.push({ item: best.item, score: best.score })
    for (const each of left) each.said = Math.max(each.said, overlap(best.words, each.words))
    for (let at = left.length - 1; at >= 0; at -= 1) {
      const each = left[at]
      if (each === best || (each && each.said >= SAME_SHARE)) left.splice(at, 1)
    }
  }
  return chosen
}

const MOST_COMPARED = 60
const MOST_CHOSEN = 40

function fill(ranked: readonly RankedItem[], now: number): RecalledItem[] {
  const classes = new Map(Object.entries(CLASSES).map(([kind, room]) => [kind, { ...room }]))
  const scopes = new Map(Object.entries(SCOPES))
  return ranked.flatMap(({ item, score }) => {
    const shown = describe(item, score, now)
    const room = classes.get(item.kind)
    const places = scopes.get(item.scope) ?? 0
    if (!room || room.items === 0 || room.tokens < shown.tokens || places === 0) return []
    room.items -= 1
    room.tokens -= shown.tokens
    scopes.set(item.scope, places - 1)
    return [shown]
  })
}

/** An item as it is shown. What is cold is shown by its summary. */
function describe(item: MemoryItem, score: number, now: number): RecalledItem {
  const whole = item.tier === 'cold' ? summarise([item]) || item.text : item.text
  const text = whole.length > LONGEST_TEXT ? `${whole.slice(0, LONGEST_TEXT - 1).toWellFormed()}…` : whole
  const source = sourceOf(item, now)
  return { id: item.id, kind: item.kind, text, source, score, tokens: countTokens(`${text} ${source}`) }
}

/** About four characters are a token. */
function countTokens(text: string): number {
  return Math.ceil(text.length / 4)
}

/** Where an item comes from, in words: `learned in t-3fa91c on 2026-11-17, worked 4 of 5 times`. */
function sourceOf(item: MemoryItem, now: number): string {
  const { authority, task, session, updated_at, successes, failures, kind, scope } = item
  const day = new Date(updated_at).toISOString().slice(0, 10)
  const where = task ?? session
  const seen = kind === 'episode' ? 'happened' : 'learned'
  const first = authority === 'person' ? 'said by a person' : isOnlySaid(item) ? 'said by an agent, not checked,' : seen
  const tries = successes + failures
  const worked = kind === 'procedure' && tries > 0 ? `worked ${successes} of ${tries} times` : undefined
  const failed = kind === 'anti_pattern' && successes > 1 ? `seen ${successes} times` : undefined
  const old = now - updated_at > OLD_MS && kind !== 'episode' ? 'not checked for long' : undefined
  const pattern = item.trigger && isPattern(item.trigger) ? `for what matches ${item.trigger.text}` : undefined
  const parts = [
    `${first}${where === null ? '' : ` in ${where}`} on ${day}`,
    pattern,
    worked,
    failed,
    scope === 'global' ? 'in several projects' : undefined,
    old,
  ]
  return parts.filter(part => part !== undefined).join(', ')
}

const OLD_MS = 120 * DAY_MS
