import { accessSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { client } from '@agentclientprotocol/sdk'
import { AppError, messageOf } from '../../base/errors.ts'
import type { Guard, GuardedChild } from '../../base/process/guardian.ts'
import type { AgentManifest } from '../../domain/agents/manifest.ts'
import type { Failure, OpenSession, Session, SessionEvent } from '../../domain/session.ts'
import type { AgentProcess } from '../agent-process.ts'
import { checkedAsks } from '../checked-asks.ts'
import { EventQueue } from '../event-queue.ts'
import { openRecorder, type Recorder } from '../recorder.ts'
import { Files } from './client/files.ts'
import { AcpGate } from './client/gate.ts'
import { refused } from './client/refusals.ts'
import { Terminals } from './client/terminals.ts'
import { Conversation } from './conversation.ts'
import { rpcFailure } from './messages/failure.ts'
import { openConversation } from './open-conversation.ts'
import { type Command, commandFor } from './start-files.ts'
import { AcpConnection } from './wire/connection.ts'
import { Update } from './wire/schemas.ts'

/** An idle agent exits soon after the end of its input; one that is busy gets this long to stop its tools. */
const GRACE_MS = 2000
/** As many events wait for a slow reader; then the agent waits too. */
const EVENTS_WAITING = 1000

export interface AcpSeat {
  manifest: AgentManifest
  process: AgentProcess
  guard: Guard
  /** What we do for the agent, outside of any sandbox. */
  serves: AgentManifest['start']['serves']
  program: string[] | undefined
  askDeadlineMs: number
  startMs: number
  stopMs: number
  log(line: string): void
}

/**
 * One conversation with an agent over ACP. It lasts until the agent's output ends, whatever the cause; then it ends all that
 * the agent started, and only then tells `ended`.
 */
export class AcpSession implements Session {
  readonly id: string
  readonly events = new EventQueue()
  readonly #open: OpenSession
  readonly #seat: AcpSeat
  readonly #conversation: Conversation
  readonly #gate: AcpGate
  readonly #files: Files
  readonly #terminals: Terminals
  readonly #gone = new AbortController()
  readonly #over: Promise<void>
  #recorder: Recorder | undefined
  #command: Command | undefined
  #connection: AcpConnection | undefined
  #closing: Promise<void> | undefined
  #failure: Failure | undefined
  #leaving = false

  constructor(open: OpenSession, seat: AcpSeat) {
    this.id = open.id
    this.#open = open
    this.#seat = seat
    this.#conversation = new Conversation(open, seat.manifest, {
      tell: events => this.#tell(events),
      request: (method, params) => this.#request(method, params),
      notify: (method, params) => this.#connection?.notify(method, params),
      leave: () => this.#leave(),
      cutOff: failure => this.#cutOff(failure),
      stopMs: seat.stopMs,
    })
    const asks = checkedAsks(open.asks, seat.askDeadlineMs)
    this.#gate = new AcpGate(
      this.#conversation.keeper(asks, note => this.#recorder?.note(note)),
      this.#conversation.calls,
    )
    this.#conversation.onTurnOver(() => this.#gate.forget())
    this.#files = new Files(open.cwd, this.#gate)
    const { guard } = seat
    this.#terminals = new Terminals({
      root: open.cwd,
      env: open.env,
      guard,
      isolation: open.isolation,
      asking: this.#gate,
    })
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

  /** The protocol has no word for it: a request that the agent sends right behind a tool may be out before it hears of the stop. */
  async withhold(): Promise<void> {
    if (this.#conversation.heard && this.#conversation.running) return this.pause()
    this.#closing ??= this.#conversation.heard ? this.#close() : this.#kill()
    await this.#closing
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close()
    await this.#closing
  }

  async #run(): Promise<void> {
    try {
      this.#recorder = openRecorder(this.#open.record)
      this.#recorder.note({ pcc: 'open', agent: this.#seat.manifest.kind, resumed: this.#open.resume !== undefined })
      accessSync(this.#open.cwd)
      if (!this.#mayBegin()) return await this.#finish()
      if (this.#open.prompt !== undefined) this.#conversation.owed()
      await this.#converse()
    } catch (error) {
      const isMissing = error instanceof AppError && error.code === 'agent_missing'
      this.#failure ??= { kind: isMissing ? 'agent_missing' : 'other', message: messageOf(error) }
    }
    await this.#finish()
  }

  async #converse(): Promise<void> {
    const { manifest, process, program, serves, startMs } = this.#seat
    if (this.#open.resume && manifest.resume === 'none')
      return void this.#fail({ kind: 'resume_unknown', message: `${manifest.name} cannot go on with a conversation.` })
    this.#command = await commandFor(manifest, this.#open, program)
    const { command, args, env, shows } = this.#command
    const child = process.spawn({ command, args, env, shows, cwd: this.#open.cwd, signal: this.#gone.signal })
    const connection = this.#connect(child)
    this.#connection = connection
    const late = AbortSignal.timeout(startMs)
    try {
      const opened = await openConversation(connection, {
        manifest,
        serves,
        open: this.#open,
        signal: AbortSignal.any([late, this.#gone.signal]),
      })
      this.#conversation.opened(opened)
      await this.#beginWith(this.#open.prompt)
    } catch (error) {
      return this.#fail(await this.#startFailure(error, late.aborted))
    }
    await connection.closed
    if (!this.#closing && !this.#leaving) this.#failure ??= await this.#causeOfDeath('it ended its output')
  }

  #connect(child: GuardedChild): AcpConnection {
    const app = client({ name: 'perpetualcc' })
      .onRequest('session/request_permission', raw, ({ params, signal }) => this.#gate.permission(params, signal))
      .onRequest('elicitation/create', raw, ({ params, signal }) => this.#gate.question(params, signal))
      .onRequest('fs/read_text_file', raw, ({ params, signal }) => this.#served('files').read(params, signal))
      .onRequest('fs/write_text_file', raw, ({ params, signal }) => this.#served('files').write(params, signal))
      .onRequest('terminal/create', raw, ({ params, signal }) => this.#served('terminals').create(params, signal))
      .onRequest('terminal/output', raw, ({ params }) => this.#served('terminals').output(params))
      .onRequest('terminal/wait_for_exit', raw, ({ params, signal }) =>
        this.#served('terminals').waitForExit(params, signal),
      )
      .onRequest('terminal/kill', raw, ({ params }) => this.#served('terminals').kill(params))
      .onRequest('terminal/release', raw, ({ params }) => this.#served('terminals').release(params))
    return new AcpConnection(app, child, {
      seen: message => this.#recorder?.message(message),
      updated: params => this.#updated(params),
      garbage: (line, count) => {
        if (count <= 10) this.#seat.log(`session ${this.id}: not a message on stdout: ${line}`)
      },
      room: () => this.events.room(EVENTS_WAITING, this.#gone.signal),
    })
  }

  /** An agent may ask for what it was told that there is not; what we do for it is done outside of its sandbox. */
  #served<What extends 'files' | 'terminals'>(what: What): { files: Files; terminals: Terminals }[What] {
    if (!this.#seat.serves[what]) throw refused(`Not allowed: there are no ${what} of the client here, use your own.`)
    return { files: this.#files, terminals: this.#terminals }[what]
  }

  #updated(params: unknown): void {
    const update = Update.safeParse(params).data
    if (update && !this.#closing) this.#conversation.updated(update.update)
  }

  async #request(method: string, params: unknown): Promise<unknown> {
    if (!this.#connection) throw new Error('the agent is not there')
    return this.#connection.request(method, params, this.#gone.signal)
  }

  async #startFailure(error: unknown, isLate: boolean): Promise<Failure> {
    const { name } = this.#seat.manifest
    if (isLate)
      return { kind: 'other', message: `${name} did not answer within ${this.#seat.startMs / 1000} s of its start.` }
    const gone = await Promise.race([this.#seat.process.exited().then(() => true), sleep(500, false)])
    if (gone || this.#seat.process.missing) return this.#causeOfDeath(messageOf(error))
    if (error instanceof AppError && error.code === 'session_over') return { kind: 'other', message: error.message }
    const failure = rpcFailure(error)
    return this.#open.resume && failure.kind !== 'auth' ? { ...failure, kind: 'resume_unknown' } : failure
  }

  async #causeOfDeath(problem: string): Promise<Failure> {
    const { process, manifest } = this.#seat
    // Its output ends a moment before its exit is known.
    await Promise.race([process.exited(), sleep(500)])
    if (process.missing) return { kind: 'agent_missing', message: new AppError('agent_missing', { problem }).message }
    return { kind: 'agent_crashed', message: `${manifest.name} ended unexpectedly (${process.lastWords}).` }
  }

  #fail(failure: Failure): void {
    this.#failure ??= failure
  }

  /** The agent must not go on, not even with the rest of the turn. */
  #cutOff(failure: Failure): void {
    this.#fail(failure)
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
      await Promise.race([this.#conversation.idle(), sleep(GRACE_MS / 2)])
    }
    this.#gone.abort()
    this.#connection?.close()
    await this.#over
  }

  /** Looked at last: an agent takes seconds to introduce itself, and whoever was stopped meanwhile says nothing any more. */
  async #beginWith(prompt: string | undefined): Promise<void> {
    if (prompt === undefined) return
    if (this.#mayBegin()) await this.prompt(prompt)
    else this.#conversation.dropped()
  }

  #mayBegin(): boolean {
    return !this.#closing && (this.#open.mayBegin?.() ?? true)
  }

  /** An agent whose model has not answered yet would hear of a stop only after it has called it. */
  async #kill(): Promise<void> {
    this.#conversation.dropped()
    this.#gone.abort()
    this.#seat.process.kill()
    this.#connection?.close()
    await this.#over
  }

  async #finish(): Promise<void> {
    const by = this.#closing ? 'owner' : 'agent'
    this.#conversation.stop()
    this.#gone.abort()
    this.#connection?.close()
    // Nothing more can be done where this fails, and the session must end.
    await this.#terminals.close().catch(() => undefined)
    await this.#seat.process.end().catch(() => undefined)
    await this.#command?.dispose().catch(() => undefined)
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

/** Parsed by whoever takes it, so that what is malformed is refused and not an error of the protocol's. */
function raw(params: unknown): unknown {
  return params
}
