import type { Failure, OpenSession, SessionEvent } from '../../domain/session.ts'
import type { Line, Manner, Reading } from './manner.ts'
import { Turn, type TurnEnd } from './turn.ts'

interface Parts {
  open: OpenSession
  line: Line
  reading: Reading
  manner: Manner
}

interface Opened {
  vendorId: string
  model: string
  version: string | undefined
}

/**
 * The turns of one conversation, one at a time. A turn begins with what was said, is stopped by a pause, an interrupt, a cap or a call
 * that waits for a person, and its end is told once: by the agent, or with the end of the session where the agent never came to it.
 */
export class Turns {
  vendorId: string | undefined
  readonly #parts: Parts
  /** What was said in the middle of a turn and could not be heard there. */
  readonly #waiting: string[] = []
  #current: Turn | undefined
  #owed = false
  #started = false
  #idle = Promise.withResolvers<void>()
  #stopTimer: NodeJS.Timeout | undefined

  constructor(parts: Parts) {
    this.#parts = parts
    const { resume } = parts.open
    if (resume && !resume.fork) this.vendorId = resume.vendorId
  }

  get current(): Turn | undefined {
    return this.#current
  }

  get running(): boolean {
    return this.#current !== undefined
  }

  /** Aborts when the turn is stopped, and when the session closes. */
  get signal(): AbortSignal {
    return this.#current?.stop.signal ?? AbortSignal.abort()
  }

  /** A prompt was given: whatever happens, the end of a turn is told. */
  owed(isOwed: boolean): void {
    this.#owed = isOwed
  }

  /** It came to nothing: there is no turn whose end could be told. */
  dropped(): void {
    this.#current = undefined
    this.#owed = false
    this.#waiting.length = 0
  }

  /** Resolves when no turn runs. */
  async idle(): Promise<void> {
    if (this.#current) await this.#idle.promise
  }

  opened({ vendorId, model, version }: Opened): void {
    this.vendorId = vendorId
    this.#started = true
    const { cwd, resume } = this.#parts.open
    const resumed = resume !== undefined
    this.#parts.line.tell([{ kind: 'started', vendorId, model, cwd, tools: [], resumed, ...(version && { version }) }])
  }

  /** The next turn, or a word in the middle of one. */
  async say(text: string): Promise<void> {
    if (this.#current && (await this.#parts.manner.steer(text))) return
    this.#waiting.push(text)
    if (!this.#current) this.#next()
  }

  /** With a call in flight it ends with the call; else there is nothing to wait for. */
  pause({ atOnce = false }: { atOnce?: boolean } = {}): void {
    if (!this.#current) return
    this.#current.pausing = true
    if (atOnce || this.#parts.reading.calls.running === 0) this.cancel()
  }

  interrupt(): void {
    if (!this.#current) return
    this.#current.interrupting = true
    this.cancel()
  }

  /** Asks the agent to end the turn; one that goes on is ended. */
  cancel(): void {
    const turn = this.#current
    if (!turn || turn.cancelled) return
    const { manner, line } = this.#parts
    turn.cancelled = true
    turn.stop.abort()
    manner.cancel()
    const message = `${manner.name} was told to stop and went on, so it was ended.`
    this.#stopTimer = setTimeout(() => line.cutOff({ kind: 'other', message }), line.stopMs).unref()
  }

  /** A turn that takes more rounds than it was given is stopped. */
  mindCap(): void {
    const { open, reading } = this.#parts
    if (!this.#current || open.maxTurns === undefined || reading.rounds <= open.maxTurns) return
    this.#current.capped = true
    this.cancel()
  }

  /** A turn has ended, by what the agent says. */
  over(turn: Turn, end: TurnEnd): void {
    if (this.#current !== turn) return
    const { line, manner } = this.#parts
    this.stop()
    const ended = turn.ended(end, this.#said())
    line.tell([...this.#parts.reading.flush(), ended])
    this.#current = undefined
    this.#owed = false
    manner.over(turn, ended)
    this.#idle.resolve()
    if (turn.parked) line.leave()
    else this.#next()
  }

  /** Nothing is asked and nothing is waited for any more. */
  stop(): void {
    this.#current?.stop.abort()
    clearTimeout(this.#stopTimer)
  }

  /** The last events: the end of a turn that is still owed, then `ended`. */
  end(failure: Failure | undefined): SessionEvent[] {
    const turn = this.#current ?? (this.#owed ? new Turn('') : undefined)
    if (turn && !failure && !turn.parked) turn.interrupting = true
    const ended = turn?.ended(failure ? { failure } : { stopped: { stopReason: 'cancelled' } }, this.#said())
    this.#current = undefined
    this.#owed = false
    const reason = failure ? (this.#started && failure.kind === 'agent_crashed' ? 'crashed' : 'failed') : 'closed'
    return [
      ...this.#parts.reading.flush(),
      ...(ended ? [ended] : []),
      { kind: 'ended', reason, ...(failure && { failure }) },
    ]
  }

  #said(): { text: string; rounds: number } {
    const { words, rounds } = this.#parts.reading
    return { text: words.takeLast(), rounds }
  }

  #next(): void {
    const text = this.#waiting.splice(0).join('\n\n')
    if (!text) return
    this.#current = new Turn(text)
    this.#owed = true
    this.#idle = Promise.withResolvers<void>()
    this.#parts.reading.begin()
    this.#parts.manner.begin(this.#current)
  }
}
