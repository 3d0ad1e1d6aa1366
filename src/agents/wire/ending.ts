import type { Failure } from '../../domain/session.ts'

/** How a session comes to its end: closed by its owner, left by itself, or by a failure, of which the first one counts. */
export class Ending {
  /** The owner closes it: resolves when it is over. */
  closing: Promise<void> | undefined
  /** It ends by itself: its call waits for a person. */
  isLeaving = false
  readonly #gone = new AbortController()
  #failure: Failure | undefined

  /** Aborts when the agent is to be gone. */
  get gone(): AbortSignal {
    return this.#gone.signal
  }

  /** Nothing is said any more. */
  get isQuiet(): boolean {
    return this.closing !== undefined || this.isLeaving
  }

  get by(): 'owner' | 'agent' {
    return this.closing ? 'owner' : 'agent'
  }

  /** What it failed of: whatever breaks in a session that was to end is no failure of it. */
  get failure(): Failure | undefined {
    return this.isQuiet ? undefined : this.#failure
  }

  fail(failure: Failure): void {
    this.#failure ??= failure
  }

  abort(): void {
    this.#gone.abort()
  }
}
