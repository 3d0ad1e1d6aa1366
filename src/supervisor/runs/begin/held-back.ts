import type { Clock } from '../../../base/clock.ts'

/** Another git is soon done; one that left a lock behind when it died has to be found by a person, who is told. */
const WAITS_MS = [5_000, 15_000, 60_000]

interface Held {
  run: string
  /** How often in a row. */
  times: number
  notBefore: number
  why: string
}

/**
 * Tasks for which there was no place in a moment in which somebody else was at work in their repository. They are ready and stay so;
 * their run passes them over for a while, so that the tasks behind them begin. A daemon that starts anew tries them at once.
 */
export class HeldBack {
  readonly #clock: Clock
  readonly #held = new Map<string, Held>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Passes a task over for a while: longer each time in a row. */
  hold(run: string, task: string, why: string): void {
    const times = (this.#held.get(task)?.times ?? 0) + 1
    const notBefore = this.#clock.now() + (WAITS_MS[times - 1] ?? WAITS_MS.at(-1) ?? 0)
    this.#held.set(task, { run, times, notBefore, why })
  }

  /** There is a place for it now. */
  free(task: string): void {
    this.#held.delete(task)
  }

  /** Its tasks that are passed over now. */
  of(run: string): ReadonlySet<string> {
    return new Set(this.#now(run).map(([task]) => task))
  }

  /** When the first of them is tried again, and why it was not begun; nothing where none is passed over. */
  next(run: string): { notBefore: number; why: string } | undefined {
    const [first] = this.#now(run).toSorted(([, a], [, b]) => a.notBefore - b.notBefore)
    if (!first) return undefined
    const [task, { notBefore, why }] = first
    return { notBefore, why: `${task} is tried again at ${new Date(notBefore).toISOString()}: ${why}` }
  }

  /** It has ended. */
  forget(run: string): void {
    for (const [task, held] of this.#held) if (held.run === run) this.#held.delete(task)
  }

  /** A clock that was set back leaves a time far in the future: that is nothing to wait for. */
  #now(run: string): [string, Held][] {
    const now = this.#clock.now()
    const longest = WAITS_MS.at(-1) ?? 0
    return [...this.#held].filter(
      ([, held]) => held.run === run && held.notBefore > now && held.notBefore <= now + longest,
    )
  }
}
