import { accessSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Query } from '@anthropic-ai/claude-agent-sdk'
import { AppError, messageOf } from '../../base/errors.ts'
import type { Failure, OpenSession, Session, SessionEvent } from '../../domain/session.ts'
import { checkedAsks } from '../checked-asks.ts'
import { EventQueue } from '../event-queue.ts'
import { openRecorder, type Recorder } from '../recorder.ts'
import { Conversation } from './messages/conversation.ts'
import { Prompts } from './prompts.ts'
import type { Seat } from './seat.ts'

/** An agent that is idle exits within 50 ms of the end of its input; one that is busy gets this long to stop its tools. */
const GRACE_MS = 2000

/**
 * One conversation with Claude Code. It reads the agent's messages until there are no more, whatever the cause; then it
 * ends all that the agent started, and only then tells `ended`.
 */
export class ClaudeSession implements Session {
  readonly id: string
  readonly events = new EventQueue()
  readonly #open: OpenSession
  readonly #seat: Seat
  readonly #conversation: Conversation
  readonly #prompts = new Prompts()
  readonly #over: Promise<void>
  #recorder: Recorder | undefined
  #query: Query | undefined
  #closing: Promise<void> | undefined
  #reoffer: NodeJS.Timeout | undefined
  #nothingParked: Failure | undefined

  constructor(open: OpenSession, seat: Seat) {
    this.id = open.id
    this.#open = open
    this.#seat = seat
    const known = open.resume && !open.resume.fork ? open.resume.vendorId : undefined
    this.#conversation = new Conversation({ resumed: open.resume !== undefined, vendorId: known })
    this.#over = this.#run()
  }

  get vendorId(): string | undefined {
    return this.#conversation.vendorId
  }

  get pid(): number | undefined {
    return this.#seat.agent.pid
  }

  async prompt(text: string): Promise<void> {
    if (this.#closing) {
      const { id, cwd } = this.#open
      throw new AppError('session_over', { id, status: 'closed', project: cwd, vendor_id: this.vendorId ?? '?' })
    }
    this.#say(text)
  }

  async pause(): Promise<void> {
    if (!this.#conversation.running || this.#closing) return
    this.#recorder?.note({ pcc: 'pause' })
    this.#conversation.pausing()
    this.#seat.gate.pause()
  }

  async interrupt(): Promise<void> {
    if (!this.#conversation.running || this.#closing) return
    await this.#cutIn()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close()
    await this.#closing
  }

  async #run(): Promise<void> {
    let failure: Failure | undefined
    try {
      this.#recorder = openRecorder(this.#open.record)
      this.#recorder.note({ pcc: 'open', agent: 'claude', resumed: this.#open.resume !== undefined })
      accessSync(this.#open.cwd)
      this.#bind()
      this.#query = this.#seat.query(this.#prompts)
      if (this.#open.prompt === undefined) this.#awaitReoffer()
      else this.#say(this.#open.prompt)
      failure = await this.#read(this.#query)
    } catch (error) {
      failure = { kind: 'other', message: messageOf(error) }
    }
    await this.#finish(failure)
  }

  async #read(query: Query): Promise<Failure | undefined> {
    try {
      for await (const message of query) {
        clearTimeout(this.#reoffer)
        this.#recorder?.message(message)
        this.#tell(this.#conversation.read(message))
        if (this.#conversation.parked) return undefined
      }
      return this.#causeOfDeath('it ended its output')
    } catch (error) {
      return this.#causeOfDeath(messageOf(error))
    }
  }

  #causeOfDeath(problem: string): Failure {
    const { agent } = this.#seat
    if (this.#nothingParked) return this.#nothingParked
    if (agent.missing) return { kind: 'agent_missing', message: new AppError('agent_missing', { problem }).message }
    return { kind: 'agent_crashed', message: `Claude Code ended unexpectedly (${agent.lastWords}).` }
  }

  async #finish(failure: Failure | undefined): Promise<void> {
    const by = this.#closing ? 'owner' : 'agent'
    clearTimeout(this.#reoffer)
    this.#seat.gate.close()
    this.#prompts.end()
    // A parked agent must write down what it put off before it goes.
    if (this.#conversation.parked) await within(this.#seat.agent.exited(), GRACE_MS)
    this.#query?.close()
    await this.#seat.agent.end().catch(() => undefined) // nothing more can be done, and the session must end
    this.#recorder?.note({ pcc: 'ended', by, ...(by === 'agent' && failure && { failure }) })
    this.#recorder?.close()
    this.#tell(this.#conversation.end({ by, failure }))
  }

  async #close(): Promise<void> {
    this.#seat.gate.close()
    if (this.#conversation.running) await within(this.#cutIn(), GRACE_MS / 2)
    this.#prompts.end()
    await within(this.#over, GRACE_MS)
    this.#query?.close()
    await this.#seat.agent.end()
    await this.#over
  }

  async #cutIn(): Promise<void> {
    this.#recorder?.note({ pcc: 'interrupt' })
    this.#conversation.interrupting()
    // An agent that is dying cannot be told; that it dies is seen elsewhere.
    await this.#query?.interrupt().catch(() => undefined)
  }

  #say(text: string): void {
    this.#recorder?.note({ pcc: 'prompt', text })
    this.#seat.gate.open()
    this.#conversation.prompted()
    this.#prompts.push(text)
  }

  #bind(): void {
    this.#seat.gate.bind({
      asks: checkedAsks(this.#open.asks, this.#seat.askDeadlineMs),
      called: request => {
        this.#recorder?.note({ pcc: 'call', request })
        this.#tell(this.#conversation.called(request))
      },
      asked: ask => this.#recorder?.note({ pcc: 'ask', ...ask }),
    })
  }

  /** Without a prompt the agent goes on by itself with the call it had put off; if there is none, it would wait for ever. */
  #awaitReoffer(): void {
    this.#conversation.prompted()
    const giveUp = () => {
      this.#nothingParked = { kind: 'other', message: 'There was no parked call to answer. Go on with a prompt.' }
      this.#prompts.end()
    }
    this.#reoffer = setTimeout(giveUp, this.#seat.reofferMs).unref()
  }

  #tell(events: SessionEvent[]): void {
    for (const event of events) this.events.push(event)
  }
}

/** Waits for it, but not longer; what comes of it is somebody else's. */
async function within(promise: Promise<unknown>, ms: number): Promise<void> {
  const late = new AbortController()
  await Promise.race([
    promise.catch(() => undefined),
    sleep(ms, undefined, { signal: late.signal }).catch(() => undefined),
  ])
  late.abort()
}
