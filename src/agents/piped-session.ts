import { accessSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { AppError, messageOf } from '../base/errors.ts'
import type { AgentManifest } from '../domain/agent-manifest.ts'
import type { Failure, OpenSession, Session } from '../domain/session.ts'
import type { AgentProcess } from './agent-process.ts'
import { agentMissingError } from './manifests/manifests.ts'
import { type EventQueue, SessionOutput } from './session-output.ts'
import type { AgentTurns, SessionLink } from './turns.ts'

/** What a session over pipes is given beside what it is to do. */
export interface PipedProcess {
  /** The agent: its kind for a recording, its name and how to get it for a person. */
  manifest: Pick<AgentManifest, 'kind' | 'name' | 'start'>
  process: AgentProcess
  askDeadlineMs: number
  /** How long it may take to introduce itself and to open a conversation. */
  startMs: number
  /** How long it may take to stop. */
  stopMs: number
  log(line: string): void
}

/** What goes over the pipes, whatever is spoken there. */
interface AgentConnection {
  readonly closed: Promise<void>
  request(method: string, params: unknown, signal: AbortSignal): Promise<unknown>
  close(): void
}

/** One that is busy gets this long to stop its tools. */
const GRACE_MS = 1000

/**
 * One conversation with an agent that is a child of ours and is spoken to over its pipes. It lasts until the agent's output ends, whatever
 * the cause; then it ends all that the agent started, and only then tells `ended`.
 */
export abstract class PipedSession<Pipe extends AgentConnection> implements Session {
  readonly id: string
  protected readonly open: OpenSession
  protected readonly telling = new SessionOutput()
  protected readonly ending = new SessionEnding()
  /** What is taken away when the agent is gone. */
  protected readonly left = new AsyncDisposableStack()
  readonly #seat: PipedProcess
  #over: Promise<void> = Promise.resolve()
  #connection: Pipe | undefined

  constructor(open: OpenSession, seat: PipedProcess) {
    this.id = open.id
    this.open = open
    this.#seat = seat
  }

  protected abstract readonly turns: AgentTurns
  /** Starts the program and listens to it; undefined where the session has failed before. */
  protected abstract connect(): Promise<Pipe | undefined>
  /** Says hello and opens the conversation. */
  protected abstract introduce(connection: Pipe, signal: AbortSignal): Promise<void>
  /** What an error means by which the agent answered to that. */
  protected abstract refusal(error: unknown): Failure
  abstract withhold(): Promise<void>

  get events(): EventQueue {
    return this.telling.events
  }

  get vendorId(): string | undefined {
    return this.turns.vendorId
  }

  get pid(): number | undefined {
    return this.#seat.process.pid
  }

  get withstood(): boolean {
    return this.#seat.process.withstood
  }

  get alone(): boolean {
    return this.#seat.process.alone
  }

  async prompt(text: string): Promise<void> {
    if (this.ending.isQuiet) throw new AppError('session_over', { id: this.id, status: 'closed' })
    this.telling.note({ pcc: 'prompt', text })
    await this.turns.say(text)
  }

  async pause(how: { atOnce?: boolean } = {}): Promise<void> {
    if (!this.turns.running || this.ending.closing) return
    this.telling.note({ pcc: 'pause' })
    this.turns.pause(how)
  }

  async interrupt(): Promise<void> {
    if (!this.turns.running || this.ending.closing) return
    this.telling.note({ pcc: 'interrupt' })
    this.turns.interrupt()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.ending.closing ??= this.#close()
    await this.ending.closing
  }

  /** Called last by whoever makes one: from here on everything is in place. */
  protected begin(): void {
    this.#over = this.#run()
  }

  /** What the conversation asks of its session. */
  protected line(): SessionLink {
    return {
      tell: events => this.telling.tell(events),
      request: async (method, params) => {
        if (!this.#connection) throw new Error('the agent is not there')
        return this.#connection.request(method, params, this.ending.gone)
      },
      leave: () => {
        this.ending.isLeaving = true
        this.#connection?.close()
      },
      cutOff: failure => this.cutOff(failure),
      stopMs: this.#seat.stopMs,
    }
  }

  protected listening() {
    return {
      ...this.telling.listening(line => this.#seat.log(`session ${this.id}: ${line}`), this.ending.gone),
      gaveUp: (reason: string) =>
        this.cutOff({ kind: 'agent_crashed', message: `${this.#seat.manifest.name} ${reason}, so it was ended.` }),
    }
  }

  /** The agent must not go on, not even with the rest of the turn. */
  protected cutOff(failure: Failure): void {
    this.ending.fail(failure)
    this.#hangUp()
  }

  /** An agent whose model has not answered yet would hear of a stop only after it has called it. */
  protected async kill(): Promise<void> {
    this.ending.closing ??= this.#kill()
    await this.ending.closing
  }

  async #run(): Promise<void> {
    const { resume, record, cwd } = this.open
    try {
      this.telling.record(record)
      this.telling.note({ pcc: 'open', agent: this.#seat.manifest.kind, resumed: resume !== undefined })
      accessSync(cwd)
      if (this.#mayBegin()) await this.#converse()
    } catch (error) {
      const isMissing = error instanceof AppError && error.code === 'agent_missing'
      this.ending.fail({ kind: isMissing ? 'agent_missing' : 'other', message: messageOf(error) })
    }
    await this.#finish()
  }

  async #converse(): Promise<void> {
    const { prompt } = this.open
    this.turns.owed(prompt !== undefined)
    const connection = await this.connect()
    if (!connection) return
    this.#connection = connection
    const late = AbortSignal.timeout(this.#seat.startMs)
    try {
      await this.introduce(connection, AbortSignal.any([late, this.ending.gone]))
      // Looked at last: an agent takes seconds to introduce itself, and whoever was stopped meanwhile says nothing any more.
      if (!this.#mayBegin()) return this.turns.dropped()
      if (prompt !== undefined) await this.prompt(prompt)
    } catch (error) {
      const refusal = (answer: unknown) => this.refusal(answer)
      return this.ending.fail(await explainStartFailure(error, { ...this.#seat, isLate: late.aborted, refusal }))
    }
    await connection.closed
    if (!this.ending.isQuiet) this.ending.fail(await explainExit('it ended its output', this.#seat))
  }

  #mayBegin(): boolean {
    return !this.ending.closing && (this.open.mayBegin?.() ?? true)
  }

  async #close(): Promise<void> {
    if (this.turns.running) {
      this.turns.interrupt()
      await Promise.race([this.turns.idle(), sleep(GRACE_MS)])
    }
    this.#hangUp()
    await this.#over
  }

  async #kill(): Promise<void> {
    this.#seat.process.kill()
    this.#hangUp()
    await this.#over
  }

  #hangUp(): void {
    this.ending.abort()
    this.#connection?.close()
  }

  async #finish(): Promise<void> {
    const { by } = this.ending
    this.turns.stop()
    this.#hangUp()
    // Nothing more can be done where this fails, and the session must end.
    await this.#seat.process.end().catch(() => undefined)
    await this.left.disposeAsync().catch(() => undefined)
    const { failure } = this.ending
    this.telling.note({ pcc: 'ended', by, ...(failure && { failure }) })
    this.telling.close()
    this.telling.tell(this.turns.end(failure))
  }
}

/** How a session comes to its end: closed by its owner, left by itself, or by a failure, of which the first one counts. */
class SessionEnding {
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

/** Its output ends, and its last error is told, a moment before its exit is known. */
const EXIT_MS = 500
/** Its last words are read some time after its exit on a busy machine; a child of it may hold them open for ever. */
const LAST_WORDS_MS = 2000

type StartedAgent = Pick<PipedProcess, 'process' | 'manifest'>

interface FailedStart extends StartedAgent, Pick<PipedProcess, 'startMs'> {
  /** It did not introduce itself in time. */
  isLate: boolean
  /** What the agent's own answer means. */
  refusal(error: unknown): Failure
}

/** Why an agent that was started could not be spoken to. */
async function explainStartFailure(error: unknown, start: FailedStart): Promise<Failure> {
  const { process, manifest, startMs, isLate, refusal } = start
  if (isLate)
    return { kind: 'other', message: `${manifest.name} did not answer within ${startMs / 1000} s of its start.` }
  const isGone = await Promise.race([process.exited().then(() => true), sleep(EXIT_MS, false)])
  if (isGone || process.missing) return explainExit(messageOf(error), start)
  if (error instanceof AppError && error.code === 'session_over') return { kind: 'other', message: error.message }
  return refusal(error)
}

/** Why an agent is not there any more, or never was. */
async function explainExit(problem: string, { process, manifest }: StartedAgent): Promise<Failure> {
  const isGone = await Promise.race([process.exited().then(() => true), sleep(EXIT_MS, false)])
  if (isGone) await Promise.race([process.silent(), sleep(LAST_WORDS_MS)])
  if (process.missing) return { kind: 'agent_missing', message: agentMissingError(manifest, problem).message }
  return { kind: 'agent_crashed', message: `${manifest.name} ended unexpectedly (${process.lastWords}).` }
}
