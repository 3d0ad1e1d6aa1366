import { accessSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { AppError, messageOf } from '../../base/errors.ts'
import type { Failure, OpenSession, Session, SessionEvent } from '../../domain/session.ts'
import type { AgentProcess } from '../agent-process.ts'
import { checkedAsks } from '../checked-asks.ts'
import { EventQueue } from '../event-queue.ts'
import { openRecorder, type Recorder } from '../recorder.ts'
import { Conversation } from './conversation.ts'
import { CodexGate } from './gate.ts'
import { rpcFailure } from './messages/failure.ts'
import { prepareHome } from './start/home.ts'
import { openThread } from './start/open-thread.ts'
import { flagsFor } from './start/policy.ts'
import { CodexConnection } from './wire/connection.ts'

/** One that is busy gets this long to stop its tools. */
const GRACE_MS = 1000
/** As many events wait for a slow reader; then Codex waits too. */
const EVENTS_WAITING = 1000

export interface CodexSeat {
  process: AgentProcess
  program: string[]
  appendPrompt: string | undefined
  askDeadlineMs: number
  startMs: number
  stopMs: number
  log(line: string): void
}

/**
 * One conversation with Codex. It lasts until the output of its process ends, whatever the cause; then it ends all that Codex started, and
 * only then tells `ended`.
 */
export class CodexSession implements Session {
  readonly id: string
  readonly events = new EventQueue()
  readonly #open: OpenSession
  readonly #seat: CodexSeat
  readonly #conversation: Conversation
  readonly #gate: CodexGate
  readonly #gone = new AbortController()
  readonly #over: Promise<void>
  #recorder: Recorder | undefined
  #connection: CodexConnection | undefined
  #closing: Promise<void> | undefined
  #failure: Failure | undefined
  #leaving = false

  constructor(open: OpenSession, seat: CodexSeat) {
    this.id = open.id
    this.#open = open
    this.#seat = seat
    this.#conversation = new Conversation(open, {
      tell: events => this.#tell(events),
      request: (method, params) => this.#request(method, params),
      leave: () => this.#leave(),
      cutOff: failure => this.#cutOff(failure),
      stopMs: seat.stopMs,
    })
    const asks = checkedAsks(open.asks, seat.askDeadlineMs)
    const keeper = this.#conversation.keeper(asks, note => this.#recorder?.note(note))
    this.#gate = new CodexGate(keeper, this.#conversation.calls)
    this.#over = this.#run()
  }

  get vendorId(): string | undefined {
    return this.#conversation.vendorId
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
    if (this.#closing || this.#leaving) throw new AppError('session_over', { id: this.id, status: 'closed' })
    this.#recorder?.note({ pcc: 'prompt', text })
    await this.#conversation.say(text)
  }

  async pause(): Promise<void> {
    if (!this.#conversation.running || this.#closing) return
    this.#recorder?.note({ pcc: 'pause' })
    this.#conversation.pause()
  }

  async interrupt(): Promise<void> {
    if (!this.#conversation.running || this.#closing) return
    this.#recorder?.note({ pcc: 'interrupt' })
    this.#conversation.interrupt()
  }

  /** Codex calls the model as soon as a tool has answered: only a stop at once is sure to come before that. */
  async withhold(): Promise<void> {
    if (this.#conversation.running && !this.#conversation.unheard) {
      this.#recorder?.note({ pcc: 'pause' })
      return this.#conversation.pause({ atOnce: true })
    }
    this.#closing ??= this.#kill()
    await this.#closing
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close()
    await this.#closing
  }

  async #run(): Promise<void> {
    try {
      this.#recorder = openRecorder(this.#open.record)
      this.#recorder.note({ pcc: 'open', agent: 'codex', resumed: this.#open.resume !== undefined })
      accessSync(this.#open.cwd)
      if (this.#mayBegin()) await this.#converse()
    } catch (error) {
      this.#failure ??= { kind: 'other', message: messageOf(error) }
    }
    await this.#finish()
  }

  async #converse(): Promise<void> {
    const { prompt, resume } = this.#open
    this.#conversation.owed(prompt !== undefined || resume !== undefined)
    if (prompt === undefined && resume) {
      this.#failure = NOTHING_PARKED
      return
    }
    const connection = await this.#start()
    const late = AbortSignal.timeout(this.#seat.startMs)
    try {
      const signal = AbortSignal.any([late, this.#gone.signal])
      const { appendPrompt } = this.#seat
      this.#conversation.opened(await openThread(connection, { open: this.#open, appendPrompt, signal }))
      if (!this.#mayBegin()) return this.#conversation.owed(false)
      if (prompt !== undefined) await this.prompt(prompt)
    } catch (error) {
      this.#failure ??= await this.#startFailure(error, late.aborted)
      return
    }
    await connection.closed
    if (!this.#closing && !this.#leaving) this.#failure ??= await this.#causeOfDeath('it ended its output')
  }

  async #start(): Promise<CodexConnection> {
    const { cwd, env: given, settingSources } = this.#open
    const home = await prepareHome(given, { user: settingSources.includes('user') })
    const flags = flagsFor({ cwd, home: home.own, readsProject: settingSources.includes('project') })
    const [command = 'codex', ...before] = this.#seat.program
    const args = [...before, 'app-server', ...flags]
    const env = { ...given, CODEX_HOME: home.given }
    const child = this.#seat.process.spawn({ command, args, env, cwd, signal: this.#gone.signal })
    this.#connection = new CodexConnection(child, {
      seen: message => this.#recorder?.message(message),
      told: (method, params) => {
        if (!this.#closing || this.#conversation.running) this.#conversation.told(method, params)
      },
      asked: (method, params, signal) => this.#gate.answer(method, params, signal),
      garbage: (line, count) => {
        if (count <= 10) this.#seat.log(`session ${this.id}: not a message on stdout: ${line}`)
      },
      room: () => this.events.room(EVENTS_WAITING, this.#gone.signal),
    })
    return this.#connection
  }

  async #request(method: string, params: unknown): Promise<unknown> {
    if (!this.#connection) throw new Error('the agent is not there')
    return this.#connection.request(method, params, this.#gone.signal)
  }

  async #startFailure(error: unknown, isLate: boolean): Promise<Failure> {
    if (isLate)
      return { kind: 'other', message: `Codex did not answer within ${this.#seat.startMs / 1000} s of its start.` }
    const gone = await Promise.race([this.#seat.process.exited().then(() => true), sleep(500, false)])
    if (gone || this.#seat.process.missing) return this.#causeOfDeath(messageOf(error))
    if (error instanceof AppError && error.code === 'session_over') return { kind: 'other', message: error.message }
    const failure = rpcFailure(error)
    const isRefused = failure.kind === 'other' && !(error instanceof Error)
    return this.#open.resume && isRefused ? { ...failure, kind: 'resume_unknown' } : failure
  }

  async #causeOfDeath(problem: string): Promise<Failure> {
    const { process } = this.#seat
    // Its output ends a moment before its exit is known.
    await Promise.race([process.exited(), sleep(500)])
    if (process.missing) return { kind: 'agent_missing', message: new AppError('agent_missing', { problem }).message }
    return { kind: 'agent_crashed', message: `Codex ended unexpectedly (${process.lastWords}).` }
  }

  #mayBegin(): boolean {
    return !this.#closing && (this.#open.mayBegin?.() ?? true)
  }

  /** Codex must not go on, not even with the rest of the turn. */
  #cutOff(failure: Failure): void {
    this.#failure ??= failure
    this.#seat.process.kill()
    this.#gone.abort()
    this.#connection?.close()
  }

  /** The session ends by itself: its call waits for a person. */
  #leave(): void {
    this.#leaving = true
    this.#connection?.close()
  }

  async #close(): Promise<void> {
    if (this.#conversation.running) {
      this.#conversation.interrupt()
      await Promise.race([this.#conversation.idle(), sleep(GRACE_MS)])
    }
    this.#gone.abort()
    this.#connection?.close()
    await this.#over
  }

  async #kill(): Promise<void> {
    if (!this.#conversation.running) this.#conversation.owed(false)
    this.#seat.process.kill()
    this.#gone.abort()
    this.#connection?.close()
    await this.#over
  }

  async #finish(): Promise<void> {
    const by = this.#closing ? 'owner' : 'agent'
    this.#conversation.stop()
    this.#gone.abort()
    this.#connection?.close()
    // Nothing more can be done where this fails, and the session must end.
    await this.#seat.process.end().catch(() => undefined)
    const isQuiet = this.#closing !== undefined || this.#leaving
    const failure = isQuiet ? undefined : this.#failure
    this.#recorder?.note({ pcc: 'ended', by, ...(failure && { failure }) })
    this.#recorder?.close()
    this.#tell(this.#conversation.end(failure))
  }

  #tell(events: SessionEvent[]): void {
    for (const event of events) this.events.push(event)
  }
}

/** A call that was parked is given up: what is said to it comes with a prompt. */
const NOTHING_PARKED: Failure = {
  kind: 'nothing_parked',
  message: 'There was no parked call to answer. Go on with a prompt.',
}
