import type { SessionEvent } from '../domain/session.ts'

/**
 * The events of one session, for one reader at a time. A reader that stops early loses nothing: the next one goes on where
 * it stopped. `ended` is the last event and comes once; whatever is pushed after it is dropped. Whoever pushes much waits for
 * `room`, so that a slow reader costs time and not memory.
 */
export class EventQueue implements AsyncIterable<SessionEvent> {
  readonly #waiting: SessionEvent[] = []
  #wake: (() => void) | undefined
  #taken: (() => void) | undefined
  #over = false

  push(event: SessionEvent): void {
    if (this.#over) return
    this.#over = event.kind === 'ended'
    this.#waiting.push(event)
    this.#wake?.()
  }

  /** Resolves when fewer than so many events wait to be read, or nobody needs to wait any more. */
  async room(most: number, signal: AbortSignal): Promise<void> {
    while (this.#waiting.length >= most && !this.#over && !signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#taken = resolve
      signal.addEventListener('abort', () => resolve(), { once: true })
      await promise
    }
  }

  [Symbol.asyncIterator](): AsyncIterator<SessionEvent> {
    return { next: () => this.#next() }
  }

  async #next(): Promise<IteratorResult<SessionEvent>> {
    for (;;) {
      const value = this.#waiting.shift()
      if (value) {
        this.#taken?.()
        return { done: false, value }
      }
      if (this.#over) return { done: true, value: undefined }
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#wake = resolve
      await promise
    }
  }
}
