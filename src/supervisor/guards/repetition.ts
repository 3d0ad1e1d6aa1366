/** A call that came back. */
export interface FinishedCall {
  /** The shape of the call, and that of its result (`callShape`, `resultShape`). */
  call: string
  result: string
  /** Undefined if the call was refused: it counts as long as the last time. */
  tookMs: number | undefined
  /** The call changed a file in a new way. */
  changed: boolean
}

/** `tell`: the agent is warned once. `stop`: it is stopped. */
export type RepetitionVerdict = { verdict: 'fine' } | { verdict: 'tell' | 'stop'; times: number; calls: number }

const FINE: RepetitionVerdict = { verdict: 'fine' }
/** A cycle has up to this many calls: A-B-A-B has two. */
const MAX_CYCLE = 4
/** A call that waits, for a build or between two polls, costs little: it may be repeated four times as often. */
export const SLOW_MS = 20_000
const SLOW_FACTOR = 4

/**
 * Detects an agent that goes in circles: the same call, or the same two to four calls in turn, with the same result, `maxTimes`
 * times. A new change of a file resets the count, so tests between edits do not count. A different result is progress, so
 * polling something that changes does not count. The agent is warned half way and stopped at the end.
 */
export class RepetitionDetector {
  readonly #maxTimes: number
  #calls: { key: string; call: string; isSlow: boolean }[] = []
  #isWarned = false

  constructor(maxTimes: number) {
    this.#maxTimes = maxTimes
  }

  record({ call, result, tookMs, changed }: FinishedCall): RepetitionVerdict {
    if (changed) {
      this.#calls = []
      this.#isWarned = false
      return FINE
    }
    const key = `${call}\n${result}`
    const wasSlow = this.#calls.findLast(earlier => earlier.key === key)?.isSlow ?? false
    this.#calls.push({ key, call, isSlow: tookMs === undefined ? wasSlow : tookMs >= SLOW_MS })
    if (this.#calls.length > this.#maxTimes * SLOW_FACTOR * MAX_CYCLE) this.#calls.shift()
    return this.#judge()
  }

  /** Whether a call belongs to the cycle that the agent repeats. */
  circlesThrough(call: string): boolean {
    const { calls } = this.#findCycle()
    return this.#calls.slice(-calls).some(repeated => repeated.call === call)
  }

  #judge(): RepetitionVerdict {
    const { times, calls } = this.#findCycle()
    if (times < 2) this.#isWarned = false
    // A wait may be a call of its own: `sleep 30`, then a check of a background process.
    const isSlow = this.#calls.slice(-calls).some(call => call.isSlow)
    const maxTimes = isSlow ? this.#maxTimes * SLOW_FACTOR : this.#maxTimes
    if (times >= maxTimes) return { verdict: 'stop', times, calls }
    if (times < Math.ceil(maxTimes / 2) || this.#isWarned) return FINE
    this.#isWarned = true
    return { verdict: 'tell', times, calls }
  }

  /** The cycle at the end of the calls that was repeated most often. */
  #findCycle(): { times: number; calls: number } {
    let best = { times: 0, calls: 1 }
    for (let calls = 1; calls <= MAX_CYCLE; calls++) {
      const times = this.#countTimes(calls)
      if (times > best.times) best = { times, calls }
    }
    return best
  }

  #countTimes(calls: number): number {
    const all = this.#calls
    if (all.length < calls) return 0
    let same = 0
    while (same < all.length - calls && all.at(-1 - same)?.key === all.at(-1 - same - calls)?.key) same++
    return Math.floor(same / calls) + 1
  }
}

/** Enough of an output to tell two apart; of a long log only both ends are compared. */
const MAX_HALF = 10_000

/**
 * The shape of a call: equal for two calls that differ only in a time, a counter, a temporary name or a random id. Calls of one
 * shape count as the same only if their results do too, so a broad shape does no harm.
 */
export function callShape(tool: string, input: Record<string, unknown>): string {
  return `${tool} ${withoutNumbers(withoutIds(JSON.stringify(sorted(input))))}`
}

/**
 * The shape of a call's result. Numbers are kept: `34 %` and `35 %` are progress. Only numbers that the call itself contains are
 * removed, since a counter may be echoed; times, durations and random ids are removed too.
 */
export function resultShape(output: string, input: Record<string, unknown>): string {
  const compared = output.length <= 2 * MAX_HALF ? output : output.slice(0, MAX_HALF) + output.slice(-MAX_HALF)
  const named = new Set(JSON.stringify(input).match(/\d+/g) ?? [])
  return withoutIds(compared).replace(/\d+/g, digits => (named.has(digits) ? '#' : digits))
}

/** Dates, times of day, moments since 1970, durations, random ids and temporary names. */
const IDS: readonly [RegExp, string][] = [
  [/\b(tmp|temp)([./_-])[A-Za-z0-9._-]+/g, '$1$2<name>'],
  [/\b\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}([.,]\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?/g, '<time>'],
  [/\b\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?\b/g, '<time>'],
  [
    /\b(mon|tue|wed|thu|fri|sat|sun)[a-z]* +(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]* +\d{1,2}\b/gi,
    '<time>',
  ],
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, '<id>'],
  [/\b1[5-9]\d{8}(\d{3})?(\.\d+)?\b/g, '<time>'],
  [/\b\d+(\.\d+)? ?(ns|µs|us|ms|s|sec|secs|seconds?|m|min|mins|minutes?|h|hours?)\b/g, '<duration>'],
  [/\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b/gi, '<id>'],
]

function withoutIds(text: string): string {
  return IDS.reduce((left, [pattern, name]) => left.replace(pattern, name), text)
}

/** What `withoutIds` replaced counts as a number too: nine digits may be a counter or a time. */
function withoutNumbers(text: string): string {
  return text.replace(/\d+|<(time|id|duration|name)>/g, '#')
}

/** Sorts keys, so that two inputs with a different order of keys are equal. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => [key, sorted(inner)]),
  )
}
