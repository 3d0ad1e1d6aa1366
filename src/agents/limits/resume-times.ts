import type { Gate } from '../../domain/account/limit.ts'

/** The vendor's clock and ours differ by a second or two. */
const AFTER_RESET_MS = 2000
const FIRST_WITHIN_MS = 3000
/** Apart from one another, so that the first may find that the account is still closed before the others knock. */
const APART_MS = 8000
/** Everybody is back within 90 s of the reset, however many they are. */
const SPAN_MS = 80_000
/** How long the one that tries a gate is ahead of the others: its agent must start, ask and be refused in that time. */
const AHEAD_MS = 30_000

export interface Waiting {
  id: string
  created_at: number
  priority: number
}

/** When each of the sessions that wait at a gate goes on: the higher priority first, then the older, a little apart. */
export function resumeTimes(
  gate: Pick<Gate, 'closed_until'>,
  waiting: readonly Waiting[],
  random: () => number,
): Map<string, number> {
  const first = (gate.closed_until ?? 0) + AFTER_RESET_MS + Math.round(FIRST_WITHIN_MS * random())
  const apartMs = Math.min(APART_MS, SPAN_MS / Math.max(1, waiting.length - 1))
  return new Map(
    waiting.toSorted(soonerFirst).map(({ id }, place) => {
      const jitter = place === 0 ? 0 : apartMs * 0.5 * random()
      return [id, first + Math.round(place * apartMs + jitter)]
    }),
  )
}

/** The same for a gate that a person has tried now: one goes on at once, the others when it has had its answer. */
export function trialTimes(now: number, waiting: readonly Waiting[], random: () => number): Map<string, number> {
  const [first, ...others] = waiting.toSorted(soonerFirst)
  if (!first) return new Map()
  return new Map([[first.id, now], ...resumeTimes({ closed_until: now + AHEAD_MS }, others, random)])
}

function soonerFirst(a: Waiting, b: Waiting): number {
  return b.priority - a.priority || a.created_at - b.created_at || (a.id < b.id ? -1 : 1)
}
