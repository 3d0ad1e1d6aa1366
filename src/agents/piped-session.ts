import { accessSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { AppError, messageOf } from '../base/errors.ts'
import type { AgentManifest } from '../domain/agent-manifest.ts'
import { agentMissingError } from '../domain/agents/find-manifest.ts'
import type { Failure, OpenSession, Session } from '../domain/session.ts'
import type { AgentProcess } from './agent-process.ts'
import { type EventQueue, SessionOutput } from './session-output.ts'
import type { AgentTurns, SessionLink } from './turns.ts'

/** What a session over pipes needs beside its `OpenSession`. */
export interface PipedProcess {
  /** The agent: its kind for recordings, its name and how to install it for messages to a person. */
  manifest: Pick<AgentManifest, 'kind' | 'name' | 'start'>
  process: AgentProcess
  askDeadlineMs: number
  /** How long the agent may take to introduce itself and to open a conversation. */
  startMs: number
  /** How long the agent may take to stop. */
  stopMs: number
  log(line: string): void
}

/** A connection over the agent's pipes, whatever the protocol. */
interface AgentConnection {
  readonly closed: Promise<void>
  request(method: string, params: unknown, signal: AbortSignal): Promise<unknown>
  close(): void
}

/** A busy agent gets this long to stop its tools. */
const GRACE_MS = 1000

/**
 * One conversation with an agent that is our child process and talks over its pipes. It lasts until the agent's output ends, whatever
 * the cause; then it ends everything that the agent started, and only after that emits `ended`.
 */
export abstract class PipedSession<Pipe extends AgentConnection> implements Session {
  readonly id: string
  protected readonly open: OpenSession
  protected readonly output = new SessionOutput()
  protected readonly ending = new SessionEnding()
  /** Resources to clean up when the agent is gone. */
  protected readonly cleanup = new AsyncDisposableStack()
  readonly #deps: PipedProcess
  #over: Promise<void> = Promise.resolve()
  #connection: Pipe | undefined

  constructor(open: OpenSession, deps: PipedProcess) {
    this.id = open.id
    this.open = open
    this.#deps = deps
  }

  protected abstract readonly turns: AgentTurns
  /** Starts the program and listens to it; undefined when the session has failed already. */
  protected abstract connect(): Promise<Pipe | undefined>
  /** Does the handshake and opens the conversation. */
  protected abstract introduce(connection: Pipe, signal: AbortSignal): Promise<void>
  /** Translates an error by which the agent answered the handshake. */
  protected abstract refusal(error: unknown): Failure
  abstract withhold(): Promise<void>

  get events(): EventQueue {
    return this.output.events
  }

  get vendorId(): string | undefined {
    return this.turns.vendorId
  }

  get pid(): number | undefined {
    return this.#deps.process.pid
  }

  get hasSurvivors(): boolean {
    return this.#deps.process.hasSurvivors
  }

  get alone(): boolean {
    return this.#deps.process.alone
  }

  get walled(): boolean {
    return this.#deps.process.walled
  }

  async prompt(text: string): Promise<void> {
    if (this.ending.isQuiet)
      throw new AppError('session_over', { id: this.id, status: 'closed', next: `See it with: pcc status ${this.id}` })
    this.output.note({ pcc: 'prompt', text })
    await this.turns.send(text)
  }

  async pause(how: { atOnce?: boolean } = {}): Promise<void> {
    if (!this.turns.running || this.ending.closing) return
    this.output.note({ pcc: 'pause' })
    this.turns.pause(how)
  }

  async interrupt(): Promise<void> {
    if (!this.turns.running || this.ending.closing) return
    this.output.note({ pcc: 'interrupt' })
    this.turns.interrupt()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.ending.closing ??= this.#close()
    await this.ending.closing
  }

  /** Subclasses call this last in their constructor, when everything is in place. */
  protected begin(): void {
    this.#over = this.#run()
  }

  /** What a conversation needs from its session. */
  protected link(): SessionLink {
    return {
      emit: events => this.output.emit(events),
      request: async (method, params) => {
        if (!this.#connection) throw new Error('the agent is not there')
        return this.#connection.request(method, params, this.ending.gone)
      },
      leave: () => {
        this.ending.isLeaving = true
        this.#connection?.close()
      },
      cutOff: failure => this.cutOff(failure),
      stopMs: this.#deps.stopMs,
    }
  }

  protected listeners() {
    return {
      ...this.output.listeners(line => this.#deps.log(`session ${this.id}: ${line}`), this.ending.gone),
      gaveUp: (reason: string) =>
        this.cutOff({ kind: 'agent_crashed', message: `${this.#deps.manifest.name} ${reason}, so it was ended.` }),
    }
  }

  /** Ends the agent at once: it must not even go on with the rest of the turn. */
  protected cutOff(failure: Failure): void {
    this.ending.fail(failure)
    this.#hangUp()
  }

  /** Kills the agent: while its model has not answered yet, it would notice a stop only after it has called the model. */
  protected async kill(): Promise<void> {
    this.ending.closing ??= this.#kill()
    await this.ending.closing
  }

  async #run(): Promise<void> {
    const { resume, record, cwd } = this.open
    try {
      this.output.record(record)
      this.output.note({ pcc: 'open', agent: this.#deps.manifest.kind, resumed: resume !== undefined })
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
    this.turns.setOwed(prompt !== undefined)
    const connection = await this.connect()
    if (!connection) return
    this.#connection = connection
    const late = AbortSignal.timeout(this.#deps.startMs)
    try {
      await this.introduce(connection, AbortSignal.any([late, this.ending.gone]))
      // Checked here again: an agent takes seconds to introduce itself, and a session that was stopped meanwhile must not prompt it.
      if (!this.#mayBegin()) return this.turns.drop()
      if (prompt !== undefined) await this.prompt(prompt)
    } catch (error) {
      const refusal = (answer: unknown) => this.refusal(answer)
      return this.ending.fail(await explainStartFailure(error, { ...this.#deps, isLate: late.aborted, refusal }))
    }
    await connection.closed
    if (!this.ending.isQuiet) this.ending.fail(await explainExit('it ended its output', this.#deps))
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
    this.#deps.process.kill()
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
    // Nothing more can be done when this fails, and the session must end.
    await this.#deps.process.end().catch(() => undefined)
    await this.cleanup.disposeAsync().catch(() => undefined)
    const { failure } = this.ending
    this.output.note({ pcc: 'ended', by, ...(failure && { failure }) })
    this.output.close()
    this.output.emit(this.turns.end(failure))
  }
}

/** How a session ends: closed by its owner, left by itself, or by a failure. The first failure counts. */
class SessionEnding {
  /** Set when the owner closes the session; resolves when the session is over. */
  closing: Promise<void> | undefined
  /** The session ends by itself because a call waits for a person. */
  isLeaving = false
  readonly #gone = new AbortController()
  #failure: Failure | undefined

  /** Aborts when the agent has to go. */
  get gone(): AbortSignal {
    return this.#gone.signal
  }

  /** The session accepts no more prompts. */
  get isQuiet(): boolean {
    return this.closing !== undefined || this.isLeaving
  }

  get by(): 'owner' | 'agent' {
    return this.closing ? 'owner' : 'agent'
  }

  /** The failure of the session. Whatever breaks while a session is ending on purpose is not a failure. */
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

/** An agent's output ends and its last error arrives a moment before its exit is known. */
const EXIT_MS = 500
/** On a busy machine stderr is read some time after the exit; a child of the agent may hold stderr open for ever. */
const LAST_WORDS_MS = 2000

type StartedAgent = Pick<PipedProcess, 'process' | 'manifest'>

interface FailedStart extends StartedAgent, Pick<PipedProcess, 'startMs'> {
  /** The agent did not introduce itself in time. */
  isLate: boolean
  /** Translates the agent's own error answer. */
  refusal(error: unknown): Failure
}

/** Why the handshake with a started agent failed. */
async function explainStartFailure(error: unknown, start: FailedStart): Promise<Failure> {
  const { process, manifest, startMs, isLate, refusal } = start
  if (isLate)
    return { kind: 'other', message: `${manifest.name} did not answer within ${startMs / 1000} s of its start.` }
  const isGone = await Promise.race([process.exited().then(() => true), sleep(EXIT_MS, false)])
  if (isGone || process.missing) return explainExit(messageOf(error), start)
  if (error instanceof AppError && error.code === 'session_over') return { kind: 'other', message: error.message }
  return refusal(error)
}

/** Why an agent is gone, or never started. */
async function explainExit(problem: string, { process, manifest }: StartedAgent): Promise<Failure> {
  const isGone = await Promise.race([process.exited().then(() => true), sleep(EXIT_MS, false)])
  if (isGone) await Promise.race([process.stderrRead(), sleep(LAST_WORDS_MS)])
  if (process.missing) return { kind: 'agent_missing', message: agentMissingError(manifest, problem).message }
  return { kind: 'agent_crashed', message: `${manifest.name} ended unexpectedly (${process.failureText}).` }
}
