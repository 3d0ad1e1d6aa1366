import type { Failure, OpenSession, SessionEvent } from '../domain/session.ts'
import type { TextAssembler } from './session-output.ts'

/** Reads the agent's messages. */
interface MessageReader {
  readonly assembler: TextAssembler
  /** Rounds with the model in this turn. */
  readonly rounds: number
  readonly calls: { readonly running: number }
  begin(): void
  flush(): SessionEvent[]
}

/** What a conversation needs from its session. */
export interface SessionLink {
  emit(events: SessionEvent[]): void
  request(method: string, params: unknown): Promise<unknown>
  /** The session ends by itself. */
  leave(): void
  cutOff(failure: Failure): void
  stopMs: number
}

/** How to talk to one kind of agent. */
interface AgentProtocol {
  /** The agent's name for people. */
  name: string
  /** Sends the prompt of a new turn. */
  begin(turn: AgentTurn): void
  /** Tells the agent to end the turn. */
  cancel(): void
  /** Sends a message in the middle of a turn; false when the model will not see it in this turn. */
  steer(text: string): Promise<boolean>
  /** The end of a turn was reported: state that belongs to that turn is dropped. */
  turnEnded(turn: AgentTurn, ended: TurnEnded): void
}

export type TurnEnded = Extract<SessionEvent, { kind: 'turn_ended' }>

/** What the agent reports about the end of a turn. */
export type TurnEnd = { stopped: { stopReason: string } } | { failure: Failure }

/** One turn from its prompt to its end. What we did to the turn decides how its end is read. */
export class AgentTurn {
  readonly prompt: string
  readonly stop = new AbortController()
  readonly #started = Date.now()
  denials = 0
  /** Reasons of refused calls that were not sent to the model yet. */
  readonly unexplained: string[] = []
  pausing = false
  interrupting = false
  capped = false
  parked: { callId: string; tool: string } | undefined
  /** We asked the agent to end it. */
  cancelled = false

  constructor(prompt: string) {
    this.prompt = prompt
  }

  /** How the turn ended, from what the agent reports and what we did. Only `completed` is a claim of success. */
  ended(end: TurnEnd, { text, rounds }: { text: string; rounds: number }): TurnEnded {
    const base = {
      kind: 'turn_ended' as const,
      text,
      turns: rounds,
      durationMs: Date.now() - this.#started,
      denials: this.denials,
    }
    if (this.parked) return { ...base, outcome: 'parked', parked: { ...this.parked, gone: true } }
    if (this.interrupting) return { ...base, outcome: 'interrupted' }
    if (this.capped) return { ...base, outcome: 'capped' }
    if (this.pausing && this.cancelled) return { ...base, outcome: 'paused' }
    if ('failure' in end) return { ...base, outcome: 'failed', failure: end.failure }
    return { ...base, ...outcomeByReason(end.stopped.stopReason) }
  }
}

function outcomeByReason(reason: string): Pick<TurnEnded, 'outcome' | 'failure'> {
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

/** More tokens and more dollars than any conversation takes: an agent that reports more is not believed, because nothing could be spent after it. */
export const MOST_TOKENS = 10_000_000_000
export const MOST_COST_USD = 100_000

/** A name that an agent gives itself, without line breaks: it could write whole lines of the log otherwise. */
function oneLine(name: string): string {
  return name.replace(/\s+/g, ' ').trim().slice(0, 200)
}

interface AgentTurnsDeps {
  open: OpenSession
  link: SessionLink
  reader: MessageReader
  protocol: AgentProtocol
}

interface OpenedSession {
  vendorId: string
  model: string
  version: string | undefined
}

/**
 * The turns of one conversation, one at a time. A turn begins with a prompt and can be stopped by a pause, an interrupt, a cap or a call
 * that waits for a person. Its end is reported once: when the agent reports it, or at the end of the session if the agent never did.
 */
export class AgentTurns {
  vendorId: string | undefined
  readonly #deps: AgentTurnsDeps
  /** Messages that came in the middle of a turn and could not be delivered in that turn. */
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

  /** A prompt was given: whatever happens, the end of a turn must be reported. */
  setOwed(isOwed: boolean): void {
    this.#owed = isOwed
  }

  /** The prompt was never sent: there is no turn whose end must be reported. */
  drop(): void {
    this.#current = undefined
    this.#owed = false
    this.#waiting.length = 0
  }

  /** Resolves when no turn runs. */
  async idle(): Promise<void> {
    if (this.#current) await this.#idle.promise
  }

  opened({ vendorId, ...named }: OpenedSession): void {
    this.vendorId = vendorId
    this.#started = true
    const { cwd, resume } = this.#deps.open
    const resumed = resume !== undefined
    // Shown as they are, in one line with our own words.
    const [model = '', version] = [named.model, named.version].map(name => name && oneLine(name))
    this.#deps.link.emit([{ kind: 'started', vendorId, model, cwd, tools: [], resumed, ...(version && { version }) }])
  }

  /** Starts the next turn, or sends a message in the middle of the current one. */
  async send(text: string): Promise<void> {
    if (this.#current && (await this.#deps.protocol.steer(text))) return
    this.#waiting.push(text)
    if (!this.#current) this.#startNext()
  }

  /** A turn with a call in flight ends with that call; otherwise the turn is cancelled at once. */
  pause({ atOnce = false }: { atOnce?: boolean } = {}): void {
    if (!this.#current) return
    this.#current.pausing = true
    if (atOnce || this.#deps.reader.calls.running === 0) this.cancel()
  }

  interrupt(): void {
    if (!this.#current) return
    this.#current.interrupting = true
    this.cancel()
  }

  /** Asks the agent to end the turn; an agent that goes on is ended. */
  cancel(): void {
    const turn = this.#current
    if (!turn || turn.cancelled) return
    const { protocol, link } = this.#deps
    turn.cancelled = true
    turn.stop.abort()
    protocol.cancel()
    const message = `${protocol.name} was told to stop and went on, so it was ended.`
    this.#stopTimer = setTimeout(() => link.cutOff({ kind: 'other', message }), link.stopMs).unref()
  }

  /** Stops a turn that takes more rounds than it was given. */
  enforceCap(): void {
    const { open, reader } = this.#deps
    if (!this.#current || open.maxTurns === undefined || reader.rounds <= open.maxTurns) return
    this.#current.capped = true
    this.cancel()
  }

  /** The agent reported the end of a turn. */
  endTurn(turn: AgentTurn, end: TurnEnd): void {
    if (this.#current !== turn) return
    const { link, protocol } = this.#deps
    this.stop()
    const ended = turn.ended(end, this.#takeAnswer())
    link.emit([...this.#deps.reader.flush(), ended])
    this.#current = undefined
    this.#owed = false
    protocol.turnEnded(turn, ended)
    this.#idle.resolve()
    if (turn.parked) link.leave()
    else this.#startNext()
  }

  /** Stops all asks and timers of the current turn. */
  stop(): void {
    this.#current?.stop.abort()
    clearTimeout(this.#stopTimer)
  }

  /** The last events: the end of a turn that was not reported yet, then `ended`. */
  end(failure: Failure | undefined): SessionEvent[] {
    const turn = this.#current ?? (this.#owed ? new AgentTurn('') : undefined)
    if (turn && !failure && !turn.parked) turn.interrupting = true
    const ended = turn?.ended(failure ? { failure } : { stopped: { stopReason: 'cancelled' } }, this.#takeAnswer())
    this.#current = undefined
    this.#owed = false
    const reason = failure ? (this.#started && failure.kind === 'agent_crashed' ? 'crashed' : 'failed') : 'closed'
    return [
      ...this.#deps.reader.flush(),
      ...(ended ? [ended] : []),
      { kind: 'ended', reason, ...(failure && { failure }) },
    ]
  }

  #takeAnswer(): { text: string; rounds: number } {
    const { assembler, rounds } = this.#deps.reader
    return { text: assembler.takeLast(), rounds }
  }

  #startNext(): void {
    const text = this.#waiting.splice(0).join('\n\n')
    if (!text) return
    this.#current = new AgentTurn(text)
    this.#owed = true
    this.#idle = Promise.withResolvers<void>()
    this.#deps.reader.begin()
    this.#deps.protocol.begin(this.#current)
  }
}
