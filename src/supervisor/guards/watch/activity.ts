import type { SessionEvent } from '../../../domain/session.ts'
import { type Activity, isHung } from './stall.ts'

/** Looks are seconds apart. More than this between two is a machine that slept, or a clock that was set: nobody was silent. */
const SLEPT_MS = 90_000

/** Follows what an agent is in the middle of, by its events and by looks at its processes. */
export class ActivityBook {
  readonly #tools = new Set<string>()
  #aliveAt: number
  #compacting = false
  #retriesAt: number | undefined
  #lookedAt: number | undefined

  constructor(now: number) {
    this.#aliveAt = now
  }

  get aliveAt(): number {
    return this.#aliveAt
  }

  get toolsInFlight(): number {
    return this.#tools.size
  }

  heard(event: SessionEvent, now: number): void {
    this.#aliveAt = now
    this.#retriesAt = event.kind === 'retry' ? now + event.delayMs : undefined
    if (event.kind === 'tool_request') this.#tools.add(event.callId)
    if (event.kind === 'tool_result') this.#tools.delete(event.callId)
    if (event.kind === 'turn_ended') this.#tools.clear()
    if (event.kind === 'compacting') this.#compacting = event.state === 'started'
    else if (event.kind === 'turn_ended') this.#compacting = false
  }

  /** Its processes work, or somebody was asked until now. */
  seen(now: number): void {
    this.#aliveAt = now
  }

  /** Whether it hangs. Asked with every look: a clock that is set back must not keep it young, nor one that jumps make it old. */
  isHung(
    now: number,
    { stallMs, ...seen }: Pick<Activity, 'waits' | 'stopped' | 'sees'> & { stallMs: number },
  ): boolean {
    const hasSlept = this.#lookedAt !== undefined && now - this.#lookedAt > SLEPT_MS
    if (now < this.#aliveAt || hasSlept) this.#aliveAt = now
    this.#lookedAt = now
    const activity = {
      aliveAt: this.#aliveAt,
      tools: this.#tools.size,
      compacting: this.#compacting,
      retriesAt: this.#retriesAt,
      ...seen,
    }
    return isHung(activity, now, stallMs)
  }
}
