/**
 * The median milliseconds of each contender. They take turns, so that a busy moment of the machine affects all of them, and
 * one uncounted round first fills caches.
 */
export async function race<Name extends string>(
  contenders: Record<Name, () => Promise<unknown>>,
  rounds: number,
): Promise<Record<Name, number>> {
  const names = Object.keys(contenders) as Name[]
  const times = new Map(names.map(name => [name, [] as number[]]))
  for (let round = 0; round <= rounds; round += 1) {
    for (const name of names) {
      const started = performance.now()
      await contenders[name]()
      if (round > 0) times.get(name)?.push(performance.now() - started)
    }
  }
  return Object.fromEntries(names.map(name => [name, median(times.get(name) ?? [])])) as Record<Name, number>
}

/** The median. */
export function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const half = Math.floor(sorted.length / 2)
  const upper = sorted[half] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[half - 1] ?? upper) + upper) / 2
}
