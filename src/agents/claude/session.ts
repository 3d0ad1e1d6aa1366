import { accessSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Query, SDKUserMessage } from '@anthropic-ai/claude-agent-sdk'
import { AppError, messageOf } from '../../base/errors.ts'
import type { Failure, OpenSession, Session, SessionEvent } from '../../domain/session.ts'
import type { AgentProcess } from '../agent-process.ts'
import { checkedAsks } from '../checked-asks.ts'
import { claudeManifest } from '../manifests/claude.ts'
import { agentMissingError } from '../manifests/manifests.ts'
import { EventQueue, openRecorder, type Recorder } from '../session-output.ts'
import { ClaudeConversation } from './conversation.ts'
import type { ClaudeGate } from './gate.ts'
import type { ClaudeOwnTools } from './own-tools.ts'

/** A place for one session: its process, its gate, and how to begin. */
export interface ClaudeProcess {
  readonly gate: ClaudeGate
  readonly agent: AgentProcess
  /** Our tools for the agent, where it is given any. */
  readonly own: ClaudeOwnTools
  readonly askDeadlineMs: number
  readonly reofferMs: number
  /** A process that waits may refuse the session; then another is started. */
  query(prompts: AsyncIterable<SDKUserMessage>): Query | Promise<Query>
}

/** An agent that is idle exits within 50 ms of the end of its input; one that is busy gets this long to stop its tools. */
const GRACE_MS = 2000
/** A parked agent goes by itself within 50 ms once its input ends, but first it writes down what it put off: on a crowded machine that takes long. */
const PARKED_GRACE_MS = 20_000
/** What a resumed conversation had spent is told within 20 ms; without it the session only knows its tokens. */
const PAST_MS = 5000

/**
 * One conversation with Claude Code. It reads the agent's messages until there are no more, whatever the cause; then it
 * ends all that the agent started, and only then tells `ended`.
 */
export class ClaudeSession implements Session {
  readonly id: string
  readonly events = new EventQueue()
  readonly #open: OpenSession
  readonly #seat: ClaudeProcess
  readonly #conversation: ClaudeConversation
  readonly #prompts = new PromptQueue()
  readonly #over: Promise<void>
  #recorder: Recorder | undefined
  #query: Query | undefined
  #closing: Promise<void> | undefined
  #reoffer: NodeJS.Timeout | undefined
  #letGo: NodeJS.Timeout | undefined
  #nothingParked: Failure | undefined
  #costAsked = false

  constructor(open: OpenSession, seat: ClaudeProcess) {
    this.id = open.id
    this.#open = open
    this.#seat = seat
    const known = open.resume && !open.resume.fork ? open.resume.vendorId : undefined
    const { TZ: tz } = open.env
    this.#conversation = new ClaudeConversation({ resumed: open.resume !== undefined, vendorId: known, tz })
    this.#over = this.#run()
  }

  get vendorId(): string | undefined {
    return this.#conversation.vendorId
  }

  get pid(): number | undefined {
    return this.#seat.agent.pid
  }

  get withstood(): boolean {
    return this.#seat.agent.withstood
  }

  get alone(): boolean {
    return this.#seat.agent.alone
  }

  async prompt(text: string): Promise<void> {
    if (this.#closing) {
      throw new AppError('session_over', { id: this.id, status: 'closed' })
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

  async withhold(): Promise<void> {
    if (this.#conversation.at === 'work') return this.pause()
    this.#closing ??= this.#conversation.at === 'start' ? this.#kill() : this.#close()
    await this.#closing
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
      // A call that was put off goes on as soon as there is a process.
      if (!this.#mayBegin()) return await this.#finish(undefined)
      this.#query = await this.#seat.query(this.#prompts)
      if (this.#open.prompt === undefined) this.#awaitReoffer()
      if (this.#open.resume) await within(this.#readPast(this.#query), PAST_MS)
      // A process that waited takes a moment to become this session's; whoever was stopped meanwhile says nothing any more.
      if (this.#open.prompt !== undefined && this.#mayBegin()) this.#say(this.#open.prompt)
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
        const events = this.#conversation.read(message)
        this.#tell(events)
        const unjudged = this.#seat.gate.unjudged(message)
        if (unjudged !== undefined) return this.#cutOff(unjudged)
        if (this.#open.followCost && events.some(({ kind }) => kind === 'usage')) this.#askCost(query)
        if (events.some(event => isRefusedForGood(event, this.#open.env))) this.#stopRetrying()
        if (this.#conversation.parked) this.#leaveParked()
      }
      return this.#causeOfDeath('it ended its output')
    } catch (error) {
      return this.#causeOfDeath(messageOf(error))
    }
  }

  /** The gate is open: nothing more may run, not even the rest of the turn. */
  #cutOff(call: string): Failure {
    this.#query?.close()
    return { kind: 'other', message: `A tool call ran without being judged, so the session was ended: ${call}` }
  }

  #causeOfDeath(problem: string): Failure {
    const { agent } = this.#seat
    if (this.#nothingParked) return this.#nothingParked
    if (agent.missing) return { kind: 'agent_missing', message: agentMissingError(claudeManifest, problem).message }
    return { kind: 'agent_crashed', message: `Claude Code ended unexpectedly (${agent.lastWords}).` }
  }

  /** Asked before the first answer; the vendor's totals go on from there. */
  async #readPast(query: Query): Promise<void> {
    const { session } = await query.usage_EXPERIMENTAL_MAY_CHANGE_DO_NOT_RELY_ON_THIS_API_YET({ skipBehaviors: true })
    this.#recorder?.note({ pcc: 'past', spent: session })
    this.#conversation.spentBefore(session)
  }

  /** A turn of hours must not be over before anybody knows what it costs. One question at a time: it takes about 20 ms. */
  #askCost(query: Query): void {
    if (this.#costAsked) return
    this.#costAsked = true
    const asked = query.usage_EXPERIMENTAL_MAY_CHANGE_DO_NOT_RELY_ON_THIS_API_YET({ skipBehaviors: true })
    asked
      .then(({ session }) => this.#tell(this.#conversation.costs(session)))
      .catch(() => undefined) // it tells at the end of the turn, as it always does
      .finally(() => {
        this.#costAsked = false
      })
  }

  /** Ten tries with growing waits would not make a wrong key right. */
  #stopRetrying(): void {
    void this.#query?.interrupt().catch(() => undefined)
  }

  /** Not by leaving the loop: the vendor's library would end the process before it has written down what it put off. */
  #leaveParked(): void {
    this.#seat.gate.close()
    this.#prompts.end()
    this.#letGo ??= setTimeout(() => this.#query?.close(), PARKED_GRACE_MS).unref()
  }

  async #finish(failure: Failure | undefined): Promise<void> {
    const by = this.#closing ? 'owner' : 'agent'
    clearTimeout(this.#reoffer)
    clearTimeout(this.#letGo)
    this.#seat.gate.close()
    this.#prompts.end()
    // A parked agent must write down what it put off before it goes.
    if (this.#conversation.parked) await within(this.#seat.agent.exited(), PARKED_GRACE_MS)
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
    await within(this.#over, this.#conversation.parked ? PARKED_GRACE_MS : GRACE_MS)
    this.#query?.close()
    await this.#seat.agent.end()
    await this.#over
  }

  /** An agent that is starting would hear of an interrupt only after it has called the model. */
  async #kill(): Promise<void> {
    this.#seat.gate.close()
    this.#seat.agent.kill()
    this.#prompts.end()
    this.#query?.close()
    await this.#seat.agent.end()
    await this.#over
  }

  #mayBegin(): boolean {
    return !this.#closing && (this.#open.mayBegin?.() ?? true)
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
    const asks = checkedAsks(this.#open.asks, this.#seat.askDeadlineMs)
    this.#seat.own.bind(asks)
    this.#seat.gate.bind({
      asks,
      gaveUp: request => {
        this.#recorder?.note({ pcc: 'gave-up', request })
        this.#conversation.gaveUp(request)
      },
      answered: (question, answer) => this.#seat.own.answered(question, answer),
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
      this.#nothingParked = {
        kind: 'nothing_parked',
        message: 'There was no parked call to answer. Go on with a prompt.',
      }
      this.#prompts.end()
    }
    this.#reoffer = setTimeout(giveUp, this.#seat.reofferMs).unref()
  }

  #tell(events: SessionEvent[]): void {
    for (const event of events) this.events.push(event)
  }
}

/** A login that the vendor keeps for us may be renewed after the first refusal; a key of the environment cannot change. */
function isRefusedForGood(event: SessionEvent, env: Record<string, string>): boolean {
  if (event.kind !== 'retry' || event.failure.kind !== 'auth') return false
  return event.attempt > 1 || Boolean(env['ANTHROPIC_API_KEY'] || env['ANTHROPIC_AUTH_TOKEN'])
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

/** What is said to the agent, one message a turn. The process lives as long as this is not ended. */
class PromptQueue implements AsyncIterable<SDKUserMessage> {
  readonly #waiting: string[] = []
  #over = false
  #wake: (() => void) | undefined

  push(text: string): void {
    this.#waiting.push(text)
    this.#wake?.()
  }

  end(): void {
    this.#over = true
    this.#wake?.()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<SDKUserMessage> {
    for (;;) {
      const content = this.#waiting.shift()
      if (content !== undefined) yield { type: 'user', message: { role: 'user', content }, parent_tool_use_id: null }
      else if (this.#over) return
      else await new Promise<void>(resolve => (this.#wake = resolve))
    }
  }
}
