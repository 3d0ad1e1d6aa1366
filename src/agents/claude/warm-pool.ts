import { createHash } from 'node:crypto'
import { type Options, startup, type WarmQuery } from '@anthropic-ai/claude-agent-sdk'
import type { OpenSession } from '../../domain/session.ts'
import type { Seat } from './seat.ts'

/** A seat whose process is started ahead of its session. */
interface Warm {
  seat: Omit<Seat, 'query'>
  starting: Promise<WarmQuery | undefined>
  timer: NodeJS.Timeout
}

/**
 * Processes that were started before their task is known to be next, one for each environment, folder and options. One that
 * nobody takes in time is ended, because it holds 170 MB; one that died is not handed out.
 */
export class WarmPool {
  readonly #waiting = new Map<string, Warm>()
  readonly #ending = new Set<Promise<void>>()
  readonly #keepMs: number
  #closed = false

  constructor(keepMs: number) {
    this.#keepMs = keepMs
  }

  /** Starts a process unless one waits already; resolves when it is ready. A start that fails is the cold start's to tell. */
  async add(open: OpenSession, prepare: () => { seat: Omit<Seat, 'query'>; options: Options }): Promise<void> {
    const key = keyOf(open)
    if (this.#closed || this.#waiting.has(key)) return
    const { seat, options } = prepare()
    const starting = startup({ options }).catch(() => undefined)
    const timer = setTimeout(() => this.#discard(key), this.#keepMs).unref()
    this.#waiting.set(key, { seat, starting, timer })
    if (!(await starting)) await this.#discard(key)
  }

  /**
   * The waiting process that fits, if it is alive. One with the same marker that does not fit is ended first: its end sweeps
   * everything that carries the marker, and that would be the new session's process too.
   */
  async take(open: OpenSession): Promise<Seat | undefined> {
    const key = keyOf(open)
    const warm = this.#waiting.get(key)
    this.#waiting.delete(key)
    for (const [other, { seat }] of this.#waiting) {
      if (seat.agent.marker.value === open.marker) await this.#discard(other)
    }
    if (!warm) return undefined
    clearTimeout(warm.timer)
    const ready = await warm.starting
    if (ready && warm.seat.agent.alive) return { ...warm.seat, query: prompts => ready.query(prompts) }
    await this.#end(warm)
    return undefined
  }

  /** Ends the one that waits for these options. */
  async remove(open: OpenSession): Promise<void> {
    await this.#discard(keyOf(open))
  }

  /** Ends all that wait; resolves when they are gone. */
  async close(): Promise<void> {
    this.#closed = true
    for (const key of [...this.#waiting.keys()]) void this.#discard(key)
    await Promise.all(this.#ending)
  }

  async #discard(key: string): Promise<void> {
    const warm = this.#waiting.get(key)
    this.#waiting.delete(key)
    if (warm) await this.#end(warm)
  }

  #end({ seat, starting, timer }: Warm): Promise<void> {
    clearTimeout(timer)
    seat.gate.close()
    const ended = seat.agent
      .end()
      .then(() => starting)
      .then(ready => ready?.close())
      // One that will not die is the guardian's to report; the pool must not fail for it.
      .catch(() => undefined)
      .finally(() => this.#ending.delete(ended))
    this.#ending.add(ended)
    return ended
  }
}

/** All that is fixed when the process starts. Hashed, because the environment holds secrets. */
function keyOf(open: OpenSession): string {
  const { id: _id, prompt: _prompt, asks: _asks, record: _record, env, ...fixed } = open
  const sorted = Object.entries(env).toSorted(([a], [b]) => (a < b ? -1 : 1))
  const text = JSON.stringify([sorted, Object.entries(fixed).toSorted(([a], [b]) => (a < b ? -1 : 1))])
  return createHash('sha256').update(text).digest('hex')
}
