import type { Failure, OpenSession, SessionEvent } from '../domain/session.ts'
import type { TextAssembler } from './session-output.ts'

/** What reads the agent's messages. */
interface MessageReader {
  readonly words: TextAssembler
  /** Rounds with the model in this turn. */
  readonly rounds: number
  readonly calls: { readonly running: number }
  begin(): void
  flush(): SessionEvent[]
}

/** What the conversation asks of its session. */
export interface SessionLink {
  tell(events: SessionEvent[]): void
  request(method: string, params: unknown): Promise<unknown>
  /** The session ends by itself. */
  leave(): void
  cutOff(failure: Failure): void
  stopMs: number
}

/** How one kind of agent is spoken to. */
interface AgentProtocol {
  /** What people call it. */
  name: string
  /** A turn was made: its prompt is sent. */
  begin(turn: AgentTurn): void
  /** The agent is told to end the turn. */
  cancel(): void
  /** A word in the middle of a turn; false where the model does not hear it in this one. */
  steer(text: string): Promise<boolean>
  /** The end of a turn was told: what counted for that turn is forgotten. */
  over(turn: AgentTurn, ended: TurnEnded): void
}

export type TurnEnded = Extract<SessionEvent, { kind: 'turn_ended' }>

/** What the agent says of the end. */
export type TurnEnd = { stopped: { stopReason: string } } | { failure: Failure }

/** One turn from its prompt to its end: what was done to it decides how its end is read. */
export class AgentTurn {
  readonly prompt: string
  readonly stop = new AbortController()
  readonly #started = Date.now()
  denials = 0
  /** Why calls were refused that nobody could tell the model about yet. */
  readonly untold: string[] = []
  pausing = false
  interrupting = false
  capped = false
  parked: { callId: string; tool: string } | undefined
  /** We asked the agent to end it. */
  cancelled = false

  constructor(prompt: string) {
    this.prompt = prompt
  }

  /** How it ended, by what the agent says and what we did. Only `completed` is a claim of success. */
  ended(end: TurnEnd, { text, rounds }: { text: string; rounds: number }): TurnEnded {
    const told = {
      kind: 'turn_ended' as const,
      text,
      turns: rounds,
      durationMs: Date.now() - this.#started,
      denials: this.denials,
    }
    if (this.parked) return { ...told, outcome: 'parked', parked: { ...this.parked, gone: true } }
    if (this.interrupting) return { ...told, outcome: 'interrupted' }
    if (this.capped) return { ...told, outcome: 'capped' }
    if (this.pausing && this.cancelled) return { ...told, outcome: 'paused' }
    if ('failure' in end) return { ...told, outcome: 'failed', failure: end.failure }
    return { ...told, ...byReason(end.stopped.stopReason) }
  }
}

function byReason(reason: string): Pick<TurnEnded, 'outcome' | 'failure'> {
  switch (reason) {
    case 'end_turn':
      return { outcome: 'completed' }
    case 'max_turn_requests':
      return { outcome: 'capped' }
    case 'refusal':
      return { outcome: 'failed', failure: { kind: 'refusal', message: 'The model refused to go on.' } }
    case 'max_tokens':
      return {
        outcome: 'failed',
        failure: { kind: 'other', message: "The model's answer was cut by its token limit." },
      }
    case 'cancelled':
      return { outcome: 'failed', failure: { kind: 'other', message: 'The agent ended the turn by itself.' } }
    default:
      return {
        outcome: 'failed',
        failure: { kind: 'other', message: `The turn ended for an unknown reason (${reason}).` },
      }
  }
}

interface AgentTurnsDeps {
  open: OpenSession
  line: SessionLink
  reading: MessageReader
  manner: AgentProtocol
}

interface OpenedSession {
  vendorId: string
  model: string
  version: string | undefined
}

/**
 * The turns of one conversation, one at a time. A turn begins with what was said, is stopped by a pause, an interrupt, a cap or a call
 * that waits for a person, and its end is told once: by the agent, or with the end of the session where the agent never came to it.
 */
export class AgentTurns {
  vendorId: string | undefined
  readonly #deps: AgentTurnsDeps
  /** What was said in the middle of a turn and could not be heard there. */
  readonly #waiting: string[] = []
  #current: AgentTurn | undefined
  #owed = false
  #started = false
  #idle = Promise.withResolvers<void>()
  #stopTimer: NodeJS.Timeout | undefined

  constructor(deps: AgentTurnsDeps) {
    this.#deps = deps
    const { resume } = deps.open
    if (resume && !resume.fork) this.vendorId = resume.vendorId
  }

  get current(): AgentTurn | undefined {
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

  opened({ vendorId, model, version }: OpenedSession): void {
    this.vendorId = vendorId
    this.#started = true
    const { cwd, resume } = this.#deps.open
    const resumed = resume !== undefined
    this.#deps.line.tell([{ kind: 'started', vendorId, model, cwd, tools: [], resumed, ...(version && { version }) }])
  }

  /** The next turn, or a word in the middle of one. */
  async say(text: string): Promise<void> {
    if (this.#current && (await this.#deps.manner.steer(text))) return
    this.#waiting.push(text)
    if (!this.#current) this.#next()
  }

  /** With a call in flight it ends with the call; else there is nothing to wait for. */
  pause({ atOnce = false }: { atOnce?: boolean } = {}): void {
    if (!this.#current) return
    this.#current.pausing = true
    if (atOnce || this.#deps.reading.calls.running === 0) this.cancel()
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
    const { manner, line } = this.#deps
    turn.cancelled = true
    turn.stop.abort()
    manner.cancel()
    const message = `${manner.name} was told to stop and went on, so it was ended.`
    this.#stopTimer = setTimeout(() => line.cutOff({ kind: 'other', message }), line.stopMs).unref()
  }

  /** A turn that takes more rounds than it was given is stopped. */
  mindCap(): void {
    const { open, reading } = this.#deps
    if (!this.#current || open.maxTurns === undefined || reading.rounds <= open.maxTurns) return
    this.#current.capped = true
    this.cancel()
  }

  /** A turn has ended, by what the agent says. */
  over(turn: AgentTurn, end: TurnEnd): void {
    if (this.#current !== turn) return
    const { line, manner } = this.#deps
    this.stop()
    const ended = turn.ended(end, this.#said())
    line.tell([...this.#deps.reading.flush(), ended])
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
    const turn = this.#current ?? (this.#owed ? new AgentTurn('') : undefined)
    if (turn && !failure && !turn.parked) turn.interrupting = true
    const ended = turn?.ended(failure ? { failure } : { stopped: { stopReason: 'cancelled' } }, this.#said())
    this.#current = undefined
    this.#owed = false
    const reason = failure ? (this.#started && failure.kind === 'agent_crashed' ? 'crashed' : 'failed') : 'closed'
    return [
      ...this.#deps.reading.flush(),
      ...(ended ? [ended] : []),
      { kind: 'ended', reason, ...(failure && { failure }) },
    ]
  }

  #said(): { text: string; rounds: number } {
    const { words, rounds } = this.#deps.reading
    return { text: words.takeLast(), rounds }
  }

  #next(): void {
    const text = this.#waiting.splice(0).join('\n\n')
    if (!text) return
    this.#current = new AgentTurn(text)
    this.#owed = true
    this.#idle = Promise.withResolvers<void>()
    this.#deps.reading.begin()
    this.#deps.manner.begin(this.#current)
  }
}
