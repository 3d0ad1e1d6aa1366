import { accessSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Query } from '@anthropic-ai/claude-agent-sdk'
import { AppError, messageOf } from '../../base/errors.ts'
import { claudeAgent } from '../../domain/agents/claude.ts'
import { agentMissingError } from '../../domain/agents/find-manifest.ts'
import type { Failure, OpenSession, Session, SessionEvent } from '../../domain/session.ts'
import { type AgentProcess, LEFT_RUNNING } from '../agent-process.ts'
import { checkedAsks } from '../checked-asks.ts'
import { EventQueue, openRecorder, type Recorder } from '../session-output.ts'
import type { ClaudeConnection } from './connection.ts'
import { ClaudeConversation } from './conversation.ts'
import type { ClaudeGate } from './gate.ts'
import type { ClaudeOwnTools } from './own-tools.ts'
import type { ProcessUse } from './process-use.ts'

/** The process of one session, or of several one after the other, its gate, and the connection with it. */
export interface ClaudeProcess {
  readonly gate: ClaudeGate
  readonly agent: AgentProcess
  /** Our tools for the agent, if it gets any. */
  readonly own: ClaudeOwnTools
  readonly askDeadlineMs: number
  readonly reofferMs: number
  readonly connection: ClaudeConnection
  readonly use: ProcessUse
  /** Where processes wait that are kept for a next session. */
  readonly kept: { add(process: ClaudeProcess, last: OpenSession): void }
}

/** An idle agent exits within 50 ms of the end of its input; a busy agent gets this long to stop its tools. */
const GRACE_MS = 2000
/** A parked agent exits within 50 ms once its input ends, but it saves the deferred call first, which takes long on a busy machine. */
const PARKED_GRACE_MS = 20_000
/** The agent reports the past spending of a resumed conversation within 20 ms; without it the session only knows its own tokens. */
const PAST_MS = 5000

/**
 * One conversation with Claude Code. It reads the agent's messages until there are no more, whatever the cause; then it
 * ends everything that the agent started, and only after that emits `ended`.
 */
export class ClaudeSession implements Session {
  readonly id: string
  readonly events = new EventQueue()
  readonly #open: OpenSession
  readonly #process: ClaudeProcess
  readonly #conversation: ClaudeConversation
  readonly #over: Promise<void>
  #recorder: Recorder | undefined
  readonly #servesNoOther = Promise.withResolvers<boolean>()
  #isReleased = false
  #closing: Promise<void> | undefined
  #reofferTimer: NodeJS.Timeout | undefined
  #closeTimer: NodeJS.Timeout | undefined
  #nothingParked: Failure | undefined
  #costAsked = false

  constructor(open: OpenSession, process: ClaudeProcess) {
    this.id = open.id
    this.#open = open
    this.#process = process
    const vendorId = open.resume && !open.resume.fork ? open.resume.vendorId : undefined
    const { TZ: tz } = open.env
    this.#conversation = new ClaudeConversation({ resumed: open.resume !== undefined, vendorId, tz })
    this.#over = this.#run()
  }

  get vendorId(): string | undefined {
    return this.#conversation.vendorId
  }

  get pid(): number | undefined {
    return this.#process.agent.pid
  }

  get hasSurvivors(): boolean {
    return this.#process.agent.hasSurvivors
  }

  get alone(): boolean {
    return this.#process.agent.alone
  }

  get walled(): boolean {
    return this.#process.agent.walled
  }

  get mayServeAnother(): boolean {
    return this.#whyNotAnother() === undefined
  }

  get servesNoOther(): Promise<boolean> {
    return this.#servesNoOther.promise
  }

  get served(): number {
    return this.#process.use.served
  }

  async release(): Promise<string | undefined> {
    const { use, agent } = this.#process
    const isOver = !this.#conversation.running && use.isIntroduced
    const why =
      this.#whyNotAnother() ??
      (isOver ? undefined : 'its turn is not over') ??
      (agent.alone ? undefined : LEFT_RUNNING) ??
      (await agent.freeze())
    if (why !== undefined) {
      agent.thaw()
      return why
    }
    this.#closing = this.#leave()
    await this.#closing
    return undefined
  }

  async prompt(text: string): Promise<void> {
    if (this.#closing) {
      throw new AppError('session_over', { id: this.id, status: 'closed', next: `See it with: pcc status ${this.id}` })
    }
    this.#send(text)
  }

  async pause(): Promise<void> {
    if (!this.#conversation.running || this.#closing) return
    this.#recorder?.note({ pcc: 'pause' })
    this.#conversation.pausing()
    this.#process.gate.pause()
  }

  async interrupt(): Promise<void> {
    if (!this.#conversation.running || this.#closing) return
    await this.#interruptAgent()
  }

  async withhold(): Promise<void> {
    if (this.#conversation.progress === 'work') return this.pause()
    this.#closing ??= this.#conversation.progress === 'start' ? this.#kill() : this.#close()
    await this.#closing
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close()
    await this.#closing
  }

  /** Why the process cannot serve another session, as far as that is known before the end of this one. */
  #whyNotAnother(): string | undefined {
    const { agent, use } = this.#process
    if (this.#closing) return 'it is being closed'
    if (this.#open.resume) return 'its conversation was resumed'
    if (!agent.knowsWhetherAlone) return 'nobody can tell what its task left running'
    return agent.alive ? use.doubt : 'its process has ended'
  }

  /** Leaves the process as it is to the next session, which clears the conversation before it begins its own. */
  async #leave(): Promise<void> {
    const { gate, own, agent, connection, use, kept } = this.#process
    this.#isReleased = true
    gate.release(this.vendorId)
    own.release()
    agent.endTask()
    connection.stop()
    await this.#over
    use.served += 1
    kept.add(this.#process, this.#open)
  }

  async #run(): Promise<void> {
    let failure: Failure | undefined
    try {
      this.#recorder = openRecorder(this.#open.record)
      this.#recorder.note({ pcc: 'open', agent: 'claude', resumed: this.#open.resume !== undefined })
      accessSync(this.#open.cwd)
      this.#bind()
      this.#process.use.begin(this.#open)
      // A deferred call goes on as soon as there is a process.
      if (!this.#mayBegin()) return await this.#finish(undefined)
      const query = await this.#process.connection.open()
      if (this.#open.prompt === undefined) this.#awaitReoffer()
      if (this.#open.resume) await within(this.#readPast(query), PAST_MS)
      // A warm process takes a moment to become this session's; a session that was stopped meanwhile must not prompt it.
      if (this.#open.prompt !== undefined && this.#mayBegin()) this.#send(this.#open.prompt)
      failure = await this.#read(query)
    } catch (error) {
      failure = { kind: 'other', message: messageOf(error) }
    }
    await this.#finish(failure)
  }

  async #read(query: Query): Promise<Failure | undefined> {
    const { connection, use, agent } = this.#process
    try {
      for (;;) {
        const message = await connection.read()
        if (this.#isReleased) return undefined
        if (!message) break
        clearTimeout(this.#reofferTimer)
        this.#recorder?.message(message)
        if (use.introduce(message)) agent.rememberFolders()
        const events = this.#conversation.read(message)
        this.#emit(events)
        const unjudged = this.#process.gate.unjudged(message)
        if (unjudged !== undefined) return this.#cutOff(unjudged)
        if (this.#open.followCost && events.some(({ kind }) => kind === 'usage')) this.#askCost(query)
        if (events.some(event => isRefusedForGood(event, this.#open.env))) this.#stopRetrying()
        if (this.#conversation.parked) this.#leaveParked()
      }
      return await this.#explainExit('it ended its output')
    } catch (error) {
      return await this.#explainExit(messageOf(error))
    }
  }

  /** A call has bypassed the gate: nothing more may run, not even the rest of the turn. */
  #cutOff(call: string): Failure {
    this.#process.connection.close()
    return { kind: 'other', message: `A tool call ran without being judged, so the session was ended: ${call}` }
  }

  async #explainExit(problem: string): Promise<Failure> {
    const { agent } = this.#process
    if (this.#nothingParked) return this.#nothingParked
    await agent.readLastWords()
    if (agent.missing) return { kind: 'agent_missing', message: agentMissingError(claudeAgent, problem).message }
    return { kind: 'agent_crashed', message: `Claude Code ended unexpectedly (${agent.failureText}).` }
  }

  /** Reads the past spending before the first answer; the vendor's totals go on from there. */
  async #readPast(query: Query): Promise<void> {
    const { session } = await query.usage_EXPERIMENTAL_MAY_CHANGE_DO_NOT_RELY_ON_THIS_API_YET({ skipBehaviors: true })
    this.#recorder?.note({ pcc: 'past', spent: session })
    this.#conversation.setPast(session)
  }

  /** Asks for the cost within a turn, because a turn may take hours. One request at a time: each takes about 20 ms. */
  #askCost(query: Query): void {
    if (this.#costAsked) return
    this.#costAsked = true
    query
      .usage_EXPERIMENTAL_MAY_CHANGE_DO_NOT_RELY_ON_THIS_API_YET({ skipBehaviors: true })
      .then(({ session }) => this.#emit(this.#conversation.readCost(session)))
      .catch(() => undefined) // the result at the end of the turn holds the cost anyway
      .finally(() => {
        this.#costAsked = false
      })
  }

  /** Stops the agent's retries: ten tries with growing waits would not make a wrong key right. */
  #stopRetrying(): void {
    void this.#process.connection.query?.interrupt().catch(() => undefined)
  }

  /** Lets a parked agent go. Leaving the read loop instead would make the vendor's library end the process before it has saved the deferred call. */
  #leaveParked(): void {
    const { gate, connection } = this.#process
    gate.close()
    connection.endInput()
    this.#closeTimer ??= setTimeout(() => connection.close(), PARKED_GRACE_MS).unref()
  }

  async #finish(failure: Failure | undefined): Promise<void> {
    const by = this.#closing ? 'owner' : 'agent'
    clearTimeout(this.#reofferTimer)
    clearTimeout(this.#closeTimer)
    if (!this.#isReleased) await this.#endProcess()
    this.#recorder?.note({ pcc: 'ended', by, ...(by === 'agent' && failure && { failure }) })
    this.#recorder?.close()
    this.#emit(this.#conversation.end({ by, failure }))
    this.#servesNoOther.resolve(false)
  }

  async #endProcess(): Promise<void> {
    const { gate, connection, agent } = this.#process
    gate.close()
    connection.endInput()
    // A parked agent must save the deferred call before it goes.
    if (this.#conversation.parked) await within(agent.exited(), PARKED_GRACE_MS)
    connection.close()
    await agent.end().catch(() => undefined) // nothing more can be done, and the session must end
  }

  async #close(): Promise<void> {
    const { gate, connection, agent } = this.#process
    gate.close()
    if (this.#conversation.running) await within(this.#interruptAgent(), GRACE_MS / 2)
    connection.endInput()
    await within(this.#over, this.#conversation.parked ? PARKED_GRACE_MS : GRACE_MS)
    connection.close()
    await agent.end()
    await this.#over
  }

  /** Kills an agent that is starting: it would notice an interrupt only after it has called the model. */
  async #kill(): Promise<void> {
    const { gate, connection, agent } = this.#process
    gate.close()
    agent.kill()
    connection.endInput()
    connection.close()
    await agent.end()
    await this.#over
  }

  #mayBegin(): boolean {
    return !this.#closing && (this.#open.mayBegin?.() ?? true)
  }

  async #interruptAgent(): Promise<void> {
    this.#recorder?.note({ pcc: 'interrupt' })
    this.#conversation.interrupting()
    // A dying agent cannot be interrupted; its death is noticed elsewhere.
    await this.#process.connection.query?.interrupt().catch(() => undefined)
  }

  #send(text: string): void {
    this.#recorder?.note({ pcc: 'prompt', text })
    this.#process.gate.open()
    this.#conversation.prompted()
    this.#process.connection.send(text)
  }

  #bind(): void {
    const asks = checkedAsks(this.#open.asks, this.#process.askDeadlineMs)
    this.#process.own.bind(asks)
    this.#process.gate.bind({
      asks,
      gaveUp: request => {
        this.#recorder?.note({ pcc: 'gave-up', request })
        this.#conversation.gaveUp(request)
      },
      answered: (question, answer) => this.#process.own.answered(question, answer),
      called: request => {
        this.#recorder?.note({ pcc: 'call', request })
        this.#emit(this.#conversation.called(request))
      },
      asked: ask => this.#recorder?.note({ pcc: 'ask', ...ask }),
    })
  }

  /** Without a prompt the agent goes on by itself with its deferred call; without such a call it would wait for ever. */
  #awaitReoffer(): void {
    this.#conversation.prompted()
    const giveUp = () => {
      this.#nothingParked = {
        kind: 'nothing_parked',
        message: 'There was no parked call to answer. Go on with a prompt.',
      }
      this.#process.connection.endInput()
    }
    this.#reofferTimer = setTimeout(giveUp, this.#process.reofferMs).unref()
  }

  #emit(events: SessionEvent[]): void {
    for (const event of events) {
      this.#process.use.notice(event)
      this.events.push(event)
    }
    if (this.#process.use.doubt !== undefined) this.#servesNoOther.resolve(true)
  }
}

/** A stored login may be renewed after the first refusal; a key of the environment cannot change. */
function isRefusedForGood(event: SessionEvent, env: Record<string, string>): boolean {
  if (event.kind !== 'retry' || event.failure.kind !== 'auth') return false
  return event.attempt > 1 || Boolean(env['ANTHROPIC_API_KEY'] || env['ANTHROPIC_AUTH_TOKEN'])
}

/** Waits for the promise, but not longer than `ms`; its result and its errors are ignored. */
async function within(promise: Promise<unknown>, ms: number): Promise<void> {
  const late = new AbortController()
  await Promise.race([
    promise.catch(() => undefined),
    sleep(ms, undefined, { signal: late.signal }).catch(() => undefined),
  ])
  late.abort()
}
