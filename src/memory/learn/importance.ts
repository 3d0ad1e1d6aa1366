import { DAY_MS } from '../../base/clock.ts'
import { tokensOfNames } from '../../base/tokens.ts'
import type { MemoryItem, MemoryRecord } from '../../domain/memory.ts'
import { meanAt } from './belief.ts'
import { knob, type PolicyValues } from './policy.ts'

/** With more words in common two texts say the same. */
const SAME_SHARE = 0.6

/** Whether nothing similar was there before (`is_novel`). `similar` is what a search for the text has found. */
export function isNovel(text: string, similar: readonly Pick<MemoryItem, 'text'>[]): boolean {
  const words = new Set(tokensOfNames(text))
  return !similar.some(other => overlap(words, new Set(tokensOfNames(other.text))) >= SAME_SHARE)
}

/** The common share of two sets: 1 if they are the same. */
export function overlap(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  const common = a.intersection(b).size
  return common === 0 ? 0 : common / (a.size + b.size - common)
}

/** How important an item is when a record arrives: what its writer says, more if it is new, if it failed, or if it says otherwise than before. */
export function importanceAtIngest(item: MemoryItem | undefined, record: MemoryRecord): number {
  const isKnown = item !== undefined || (record.kind === 'episode' && record.is_novel === false)
  const novelty = isKnown ? 0 : 0.1
  const isSurprise = record.outcome === 'failure' && (item?.successes ?? 1) > 0
  const before = item?.importance ?? record.importance
  return share(Math.max(before * 0.95, record.importance) + novelty + (isSurprise ? 0.1 : 0))
}

/** What became of the tasks to which an item was shown. */
export interface ItemUse {
  shown: number
  succeeded: number
}

interface Recalibration {
  now: number
  policy: PolicyValues
  use?: ItemUse | undefined
}

/**
 * The importance and the tier of an item by what became of it: outcome, use, novelty, conflict. Run in batches, because time alone changes
 * all of them.
 */
export function recalibrate(item: MemoryItem, { now, policy, use }: Recalibration): MemoryItem {
  const halfLife = knob(policy, 'advice.half_life_days')
  const outcome = meanAt(item, now, halfLife)
  const shown = use?.shown ?? 0
  // Two imagined tasks, one of each kind, keep a single one from deciding.
  const usefulness = ((use?.succeeded ?? 0) + 1) / (shown + 2)
  const useWeight = shown / (shown + 3)
  const novelty = 2 ** (-(now - item.created_at) / (halfLife * DAY_MS))
  const conflict = item.conflicts / (item.conflicts + item.successes + 1)
  const worth = 0.5 * outcome + 0.3 * (useWeight * usefulness + (1 - useWeight) * 0.5) + 0.2 * novelty - 0.3 * conflict
  const importance = share(item.authority === 'person' ? Math.max(0.6, worth) : worth)
  const calibrated = { ...item, importance }
  return { ...calibrated, tier: tierOf(calibrated, now) }
}

const HOT_DAYS = 7
const WARM_DAYS = 60

/** Hot is searched first and shown whole; warm is searched; cold is shown by its summary only, and compaction may merge it. */
export function tierOf(
  { updated_at, last_used_at, importance, ended_at }: MemoryItem,
  now: number,
): MemoryItem['tier'] {
  if (ended_at !== null) return 'cold'
  const idle = (now - Math.max(updated_at, last_used_at ?? 0)) / DAY_MS
  // What matters stays up to three times as long.
  const patience = 1 + 2 * importance
  if (idle <= HOT_DAYS * patience) return 'hot'
  return idle <= WARM_DAYS * patience ? 'warm' : 'cold'
}

const LONGEST_SUMMARY = 400

/**
 * A summary of items that leave a tier together: whole sentences of theirs, those first that hold the most words that occur in several of
 * them. No model writes it, so that it says nothing that was not there.
 */
export function summarise(items: readonly Pick<MemoryItem, 'text'>[], most = LONGEST_SUMMARY): string {
  const sentences = items.flatMap(({ text }) => text.split(/(?<=[.!?])\s+|\n+/)).map(sentence => sentence.trim())
  const unique = [...new Set(sentences)].filter(sentence => sentence.length > 0 && sentence.length <= most)
  const counts = new Map<string, number>()
  const wordsOf = new Map(unique.map(sentence => [sentence, new Set(tokensOfNames(sentence))]))
  for (const words of wordsOf.values()) for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1)
  const weigh = (sentence: string) => {
    const words = [...(wordsOf.get(sentence) ?? [])]
    return words.reduce((sum, word) => sum + Math.log(counts.get(word) ?? 1), 0) / Math.sqrt(words.length + 1)
  }
  const chosen: string[] = []
  let length = 0
  for (const sentence of unique.toSorted((a, b) => weigh(b) - weigh(a))) {
    const words = wordsOf.get(sentence) ?? new Set()
    const isSaid = chosen.some(other => overlap(words, wordsOf.get(other) ?? new Set()) >= SAME_SHARE)
    if (isSaid || length + sentence.length > most) continue
    chosen.push(sentence)
    length += sentence.length + 1
  }
  return unique.filter(sentence => chosen.includes(sentence)).join(' ')
}

function share(value: number): number {
  return Math.min(1, Math.max(0, value))
}
