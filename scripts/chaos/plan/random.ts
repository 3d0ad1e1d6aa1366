/** Repeatable randomness: the same seed gives the same numbers. */
export interface Random {
  /** From 0 up to, but not including, 1. */
  next(): number
  /** A whole number from `low` to `high`, both included. */
  int(low: number, high: number): number
  pick<T>(from: readonly T[]): T
  chance(probability: number): boolean
}

/** Mulberry32: 32 bits of state are plenty for a round, and it needs nothing but arithmetic. */
export function randomFrom(seed: number): Random {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const int = (low: number, high: number) => low + Math.floor(next() * (high - low + 1))
  return {
    next,
    int,
    chance: probability => next() < probability,
    pick: from => {
      const picked = from[int(0, from.length - 1)]
      if (picked === undefined) throw new RangeError('nothing to pick from')
      return picked
    },
  }
}
