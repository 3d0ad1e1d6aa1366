/** A call that came back. */
export interface Done {
  /** Its shape, and that of what it brought back (shape.ts). */
  call: string
  result: string
  /** Undefined where it was refused: it would have taken as long as the last time. */
  tookMs: number | undefined
  /** A file was changed by it, in a way that was not seen before. */
  changed: boolean
}

/** What it comes to: `tell` the agent once, `stop` it. */
export type Repeated = { verdict: 'fine' } | { verdict: 'tell' | 'stop'; times: number; calls: number }

const FINE: Repeated = { verdict: 'fine' }
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
export class Repetition {
  readonly #most: number
  #line: { key: string; call: string; isSlow: boolean }[] = []
  #told = false

  constructor(most: number) {
    this.#most = most
  }

  done({ call, result, tookMs, changed }: Done): Repeated {
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

  #judge(): Repeated {
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
