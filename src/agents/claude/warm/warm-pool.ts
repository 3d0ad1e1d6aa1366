import { createHash } from 'node:crypto'
import type { Options } from '@anthropic-ai/claude-agent-sdk'
import type { OpenSession } from '../../../domain/session.ts'
import type { Seat } from '../seat.ts'
import { type Ahead, startAhead } from './start-ahead.ts'

/** A seat whose process is started ahead of its session. */
interface Warm {
  seat: Omit<Seat, 'query'>
  starting: Promise<Ahead | undefined>
  timer: NodeJS.Timeout
}

/**
 * Processes that were started before their task is known to be next, one for each environment and options. One that
 * nobody takes in time is ended, because it holds 170 MB; one that died is not handed out.
 */
export class WarmPool {
  readonly #waiting = new Map<string, Warm>()
  /** With the marker of each: what is started with the same one must wait, or the sweep would take it along. */
  readonly #ending = new Map<Promise<void>, string>()
  /** Folders that no process takes on after its start. */
  readonly #refusing = new Set<string>()
  readonly #keepMs: number
  #closed = false

  constructor(keepMs: number) {
    this.#keepMs = keepMs
  }

  /** Starts a process unless one waits already; resolves when it is ready. A start that fails is the cold start's to tell. */
  async add(open: OpenSession, prepare: () => { seat: Omit<Seat, 'query'>; options: Options }): Promise<void> {
    const key = keyOf(open)
    // Not a step later than it must: whoever calls it off in the same breath finds it.
    if (this.#isEnding(open.marker)) await this.#gone(open.marker)
    if (this.#closed || this.#waiting.has(key) || this.#refusing.has(open.cwd)) return
    const { seat, options } = prepare()
    const starting = startAhead(options, { seat, refused: () => this.#refusing.add(open.cwd) }).catch(() => undefined)
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
    await this.#discardMarked(open.marker)
    await this.#gone(open.marker)
    if (!warm) return undefined
    clearTimeout(warm.timer)
    const ready = await warm.starting
    if (ready && warm.seat.agent.alive) return { ...warm.seat, query: prompts => ready.query(prompts, open.cwd) }
    await this.#end(warm)
    return undefined
  }

  /** Ends the one that waits for these options, and whatever else was started for the same session. */
  async remove(open: OpenSession): Promise<void> {
    await this.#discard(keyOf(open))
    await this.#discardMarked(open.marker)
  }

  /** Ends all that wait; resolves when they are gone. */
  async close(): Promise<void> {
    this.#closed = true
    for (const key of [...this.#waiting.keys()]) void this.#discard(key)
    await Promise.all(this.#ending.keys())
  }

  #isEnding(marker: string | undefined): boolean {
    return [...this.#ending.values()].some(of => of === marker)
  }

  async #gone(marker: string | undefined): Promise<void> {
    await Promise.all([...this.#ending].map(([ended, of]) => (of === marker ? ended : undefined)))
  }

  async #discardMarked(marker: string | undefined): Promise<void> {
    for (const [key, { seat }] of this.#waiting) {
      if (seat.agent.marker.value === marker) await this.#discard(key)
    }
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
    this.#ending.set(ended, seat.agent.marker.value)
    return ended
  }
}

/** All that is fixed when the process starts, which the folder is not, but of a conversation that is resumed. Hashed: it holds secrets. */
function keyOf(open: OpenSession): string {
  const { id: _id, prompt: _prompt, mayBegin: _mayBegin, asks: _asks, record: _record, env, ...fixed } = open
  return createHash('sha256')
    .update(JSON.stringify([sorted(env), sorted(open.resume ? fixed : { ...fixed, cwd: undefined })]))
    .digest('hex')
}

/** What is not said is the same as what is said to be nothing. */
function sorted(of: Record<string, unknown>): [string, unknown][] {
  return Object.entries(of)
    .filter(([, value]) => value !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
}
