/** A call that came back. */
export interface FinishedCall {
  /** Its shape, and that of what it brought back (shape.ts). */
  call: string
  result: string
  /** Undefined where it was refused: it would have taken as long as the last time. */
  tookMs: number | undefined
  /** A file was changed by it, in a way that was not seen before. */
  changed: boolean
}

/** What it comes to: `tell` the agent once, `stop` it. */
export type RepetitionVerdict = { verdict: 'fine' } | { verdict: 'tell' | 'stop'; times: number; calls: number }

const FINE: RepetitionVerdict = { verdict: 'fine' }
/** As many calls in turn count as one cycle: A-B-A-B, and up to four. */
const LONGEST_CYCLE = 4
/** Whoever waits inside of the call, for a build or between two looks, burns little: it may happen four times as often. */
export const SLOW_MS = 20_000
const SLOW_FACTOR = 4

/**
 * Sees an agent that goes in circles: the same call, or the same two to four calls in turn, with the same outcome, `most`
 * times. A file that changes in a new way begins anew, so tests between edits are no circle; an outcome that differs is
 * progress, so looking at something that moves is none. Half way the agent is told, at the end it is stopped.
 */
export class RepetitionDetector {
  readonly #most: number
  #line: { key: string; call: string; isSlow: boolean }[] = []
  #told = false

  constructor(most: number) {
    this.#most = most
  }

  done({ call, result, tookMs, changed }: FinishedCall): RepetitionVerdict {
    if (changed) {
      this.#line = []
      this.#told = false
      return FINE
    }
    const key = `${call}\n${result}`
    const before = this.#line.findLast(each => each.key === key)?.isSlow ?? false
    this.#line.push({ key, call, isSlow: tookMs === undefined ? before : tookMs >= SLOW_MS })
    if (this.#line.length > this.#most * SLOW_FACTOR * LONGEST_CYCLE) this.#line.shift()
    return this.#judge()
  }

  /** Whether a call is one of those it circles through. */
  circlesThrough(call: string): boolean {
    const { calls } = this.#tightest()
    return this.#line.slice(-calls).some(each => each.call === call)
  }

  #judge(): RepetitionVerdict {
    const { times, calls } = this.#tightest()
    if (times < 2) this.#told = false
    // A wait may be a call of its own: `sleep 30`, then a look at what runs in the background.
    const isSlow = this.#line.slice(-calls).some(each => each.isSlow)
    const most = isSlow ? this.#most * SLOW_FACTOR : this.#most
    if (times >= most) return { verdict: 'stop', times, calls }
    if (times < Math.ceil(most / 2) || this.#told) return FINE
    this.#told = true
    return { verdict: 'tell', times, calls }
  }

  /** The cycle at the end of the line that was gone through most often. */
  #tightest(): { times: number; calls: number } {
    let best = { times: 0, calls: 1 }
    for (let calls = 1; calls <= LONGEST_CYCLE; calls++) {
      const times = this.#timesOf(calls)
      if (times > best.times) best = { times, calls }
    }
    return best
  }

  #timesOf(calls: number): number {
    const line = this.#line
    if (line.length < calls) return 0
    let same = 0
    while (same < line.length - calls && line.at(-1 - same)?.key === line.at(-1 - same - calls)?.key) same++
    return Math.floor(same / calls) + 1
  }
}

/** Enough of an output to tell two apart; a log of megabytes is looked at from both ends. */
const LOOKED_AT = 10_000

/**
 * The shape of a call: the same for two that differ only in a time, a counter, a temporary name or a random id. What two
 * calls of one shape brought back decides whether they count as the same, so nothing is lost by being broad here.
 */
export function callShape(tool: string, input: Record<string, unknown>): string {
  return `${tool} ${withoutNumbers(withoutIds(JSON.stringify(sorted(input))))}`
}

/**
 * The shape of what a call brought back. Numbers stay: `34 %` and `35 %` are progress. Only those that the call itself named
 * go, since a counter is echoed; times, durations and random ids go too.
 */
export function resultShape(output: string, input: Record<string, unknown>): string {
  const seen = output.length <= 2 * LOOKED_AT ? output : output.slice(0, LOOKED_AT) + output.slice(-LOOKED_AT)
  const named = new Set(JSON.stringify(input).match(/\d+/g) ?? [])
  return withoutIds(seen).replace(/\d+/g, digits => (named.has(digits) ? '#' : digits))
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

/** Whatever was taken out counts as a number too: whether nine digits are a counter or a time is nobody's guess. */
function withoutNumbers(text: string): string {
  return text.replace(/\d+|<(time|id|duration|name)>/g, '#')
}

/** Two inputs that differ in the order of their keys are one. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => [key, sorted(inner)]),
  )
}
