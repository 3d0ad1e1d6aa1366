/** What is done about an agent that uses too much memory; each is done once. */
export type MemoryStep = 'pause' | 'kill_hog' | 'interrupt' | 'end'

/** From here on nobody waits for the tool in flight. */
const END_SHARE = 1.5
/** It grows on although it was asked to stop. */
const GROWN_SHARE = 1.1
/** After it was asked to stop it has this long for it. */
const GRACE_MS = 30_000

/**
 * Takes an agent back under its cap, softly first: it stops after the tool in flight; a tool that grows on is ended, or the
 * turn is; what is still too large after that, or half as large again as it may be, is ended as a whole.
 */
export class MemoryCap {
  readonly #capBytes: number
  #overAt: number | undefined
  #firstBytes = 0
  #done = new Set<MemoryStep>()

  constructor(capBytes: number) {
    this.#capBytes = capBytes
  }

  /** `hasHog`: most of it belongs to one tool that can be ended alone. */
  look(bytes: number, { now, hasHog }: { now: number; hasHog: boolean }): MemoryStep | undefined {
    if (bytes <= this.#capBytes) {
      this.#overAt = undefined
      this.#done.clear()
      return undefined
    }
    if (this.#overAt === undefined) {
      this.#overAt = now
      this.#firstBytes = bytes
    }
    const step = this.#stepFor(bytes, now - this.#overAt, hasHog)
    if (step === undefined || this.#done.has(step)) return undefined
    this.#done.add(step)
    return step
  }

  #stepFor(bytes: number, overMs: number, hasHog: boolean): MemoryStep | undefined {
    const isHuge = bytes >= this.#capBytes * END_SHARE
    const isLate = overMs >= GRACE_MS
    const isGrowing = bytes >= this.#firstBytes * GROWN_SHARE
    if (!this.#done.has('pause') && !isHuge) return 'pause'
    if (hasHog && !this.#done.has('kill_hog') && (isHuge || isLate || isGrowing)) return 'kill_hog'
    if (isHuge || isLate) return 'end'
    return isGrowing ? 'interrupt' : undefined
  }
}
