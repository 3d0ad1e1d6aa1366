import { setTimeout as sleep } from 'node:timers/promises'
import * as z from 'zod'
import { codexAgent } from '../../domain/agents/codex.ts'
import type { Failure, OpenSession } from '../../domain/session.ts'
import type { CheckedAsks } from '../checked-asks.ts'
import { fileSize, TranscriptReader } from '../json-lines.ts'
import type { LimitEvent } from '../limits/reset-time.ts'
import type { RecorderNote } from '../session-output.ts'
import { type AgentTurn, AgentTurns, type SessionLink } from '../turns.ts'
import type { CodexCalls, CodexNamedCall } from './calls.ts'
import { readRetries, readTurnLimit, rpcFailure, turnEnd, turnFailure } from './failures.ts'
import type { CodexGateCallbacks } from './gate.ts'
import type { OpenedThread } from './open-thread.ts'
import { findBreach, POLICY } from './policy.ts'
import { CodexTranslator, wantsUnsandboxed } from './translator.ts'
import { ErrorNotice, RpcError, TurnBegun, TurnCompleted } from './wire.ts'

/** Codex asks about calls that the model made at once one after the other, in its own order, within some milliseconds. */
const BESIDE_MS = 300

/** The conversation of one session with Codex. The session handles processes and pipes. */
export class CodexConversation {
  readonly turns: AgentTurns
  readonly #open: OpenSession
  readonly #link: SessionLink
  readonly #translator: CodexTranslator
  #rollout: Rollout | undefined
  #turnId: string | undefined
  #limit: LimitEvent | undefined
  /** Why this turn is given up although Codex itself would keep trying. */
  #givenUp: Failure | undefined
  #parking: NodeJS.Timeout | undefined

  constructor(open: OpenSession, link: SessionLink) {
    this.#open = open
    this.#link = link
    this.#translator = new CodexTranslator({ resumed: open.resume !== undefined })
    this.turns = new AgentTurns({
      ...{ open, link, reader: this.#translator },
      protocol: {
        name: codexAgent.name,
        begin: turn => this.#begin(turn),
        cancel: () => this.#interrupt(),
        steer: text => this.#steer(text),
        turnEnded: () => this.#over(),
      },
    })
  }

  /** The model has not answered yet: it may not even have been called. */
  get isUnanswered(): boolean {
    return this.turns.running && this.#translator.rounds === 0
  }

  get calls(): CodexCalls {
    return this.#translator.calls
  }

  opened(thread: OpenedThread): void {
    if (this.#open.resume) this.#rollout = new Rollout(thread.rollout ?? '')
    this.turns.opened(thread)
  }

  notified(method: string, params: unknown): void {
    const breach = findBreach(method, params, this.calls)
    if (breach !== undefined) this.#link.cutOff({ kind: 'other', message: breach })
    const isOurs = this.#isOurs((params as { threadId?: unknown } | null)?.threadId)
    if (method === 'account/rateLimits/updated') this.#translate(method, params)
    else if (!isOurs) return
    else if (method === 'turn/completed') this.#completed(params)
    else if (method === 'turn/started') this.#begun(params)
    else if (method === 'error') this.#failing(params)
    // Outside of a turn an item belongs to the past of the conversation, or to a command that was left running.
    else if (this.turns.running || method === 'item/completed') this.#translate(method, params)
    else if (method === 'thread/tokenUsage/updated') this.#translator.spending.past(params)
  }

  /** What the gate needs from this conversation. */
  gateCallbacks(asks: CheckedAsks, note: (note: RecorderNote) => void): CodexGateCallbacks {
    const { cwd, tools, disallowedTools = [], ownTools = [] } = this.#open
    return {
      ...{ asks, cwd, tools, disallowedTools, ownTools },
      isOurs: threadId => this.#isOurs(threadId),
      turn: () => this.turns.signal,
      isUnsandboxed: async (callId, signal) =>
        this.#rollout ? this.#rollout.isUnsandboxed(callId, signal) : this.calls.isUnsandboxed(callId),
      holdMs: this.#link.stopMs,
      isStopping: () => this.#isStopping,
      called: (callId, call) => this.#link.emit([...this.#translator.flush(), ...this.calls.request(callId, call)]),
      asked: ask => note({ pcc: 'ask', ...ask }),
      questioned: ({ callId, questions }) =>
        this.#link.emit([...this.#translator.flush(), { kind: 'question', callId, questions }]),
      refused: (callId, call, reason) => this.#refused(callId, call, reason),
      parked: what => this.#parked(what),
    }
  }

  #isOurs(threadId: unknown): boolean {
    return threadId !== undefined && threadId === this.turns.vendorId
  }

  get #isStopping(): boolean {
    const turn = this.turns.current
    return turn !== undefined && (turn.pausing || (turn.parked !== undefined && !this.#parking))
  }

  #parked(what: { callId: string; tool: string }): void {
    const turn = this.turns.current
    if (!turn) return
    this.calls.park(what.callId)
    if (turn.parked) return
    turn.parked = what
    this.#parking = setTimeout(() => {
      this.#parking = undefined
      if (!this.turns.signal.aborted && this.calls.running === 0) this.turns.cancel()
    }, BESIDE_MS).unref()
  }

  #translate(method: string, params: unknown): void {
    const events = this.#translator.read(method, params)
    this.#link.emit(events)
    for (const event of events) if (event.kind === 'limit') this.#limit = event
    if (this.#isStopping && this.calls.running === 0) this.turns.cancel()
    this.turns.enforceCap()
  }

  #begin(turn: AgentTurn): void {
    this.#turnId = undefined
    this.#limit = undefined
    this.#givenUp = undefined
    this.#link
      .request('turn/start', { threadId: this.turns.vendorId, input: toInput(turn.prompt), ...POLICY })
      .then(begun => this.#begun(begun))
      // Only an error answer of Codex ends just the turn: a Codex that is gone ends the session, and the turn with it.
      .catch(error => RpcError.safeParse(error).success && this.turns.endTurn(turn, { failure: rpcFailure(error) }))
  }

  #begun(params: unknown): void {
    const id = TurnBegun.safeParse(params).data?.turn.id
    if (!this.turns.current || id === undefined || this.#turnId !== undefined) return
    this.#turnId = id
    if (this.turns.current.cancelled) this.#interrupt()
  }

  #completed(params: unknown): void {
    const { turn: completed } = TurnCompleted.safeParse(params).data ?? {}
    const turn = this.turns.current
    if (!turn || !completed || (this.#turnId !== undefined && completed.id !== this.#turnId)) return
    const end = turnEnd(completed, { givenUp: this.#givenUp, isCancelled: turn.cancelled })
    this.turns.endTurn(turn, 'failure' in end ? { failure: this.#limited(end.failure) } : end)
  }

  /** An error after which Codex retries by itself: reported as a retry, unless retries are of no use. */
  #failing(params: unknown): void {
    const notice = ErrorNotice.safeParse(params).data
    if (!notice?.willRetry || !this.turns.running) return
    const failure = this.#limited(turnFailure(notice.error))
    this.#link.emit([{ kind: 'retry', ...readRetries(notice.error), delayMs: 0, failure }])
    // Codex would wait out a limit in silence, and a wrong key does not become right.
    if (failure.kind !== 'limit' && failure.kind !== 'auth') return
    this.#givenUp = failure
    this.turns.cancel()
  }

  #limited(failure: Failure): Failure {
    if (failure.kind !== 'limit') return failure
    const { TZ: tz } = this.#open.env
    return { ...failure, limit: readTurnLimit(failure.message, { event: this.#limit, now: Date.now(), tz }) }
  }

  #over(): void {
    clearTimeout(this.#parking)
    this.#parking = undefined
    this.calls.turnOver()
  }

  /** A turn without an id is stopped once it has one. A turn that is over by now answers with an error, and its end is reported all the same. */
  #interrupt(): void {
    if (this.#turnId === undefined) return
    const { vendorId: threadId } = this.turns
    this.#link.request('turn/interrupt', { threadId, turnId: this.#turnId }).catch(() => undefined)
  }

  /** Sends a message into the turn; true when the model will see it with its next step. */
  async #steer(text: string): Promise<boolean> {
    if (this.#turnId === undefined || this.turns.current?.cancelled) return false
    const about = { threadId: this.turns.vendorId, expectedTurnId: this.#turnId }
    const sent = this.#link.request('turn/steer', { ...about, input: toInput(text) })
    return sent.then(
      () => true,
      () => false,
    )
  }

  /** Codex only tells the model that a call was rejected: the reason is sent before, so that the model sees both at once. */
  async #refused(callId: string, { tool, input }: CodexNamedCall, reason: string): Promise<void> {
    const turn = this.turns.current
    if (!turn) return
    turn.denials++
    this.#link.emit(this.calls.result(callId, { ok: false, output: reason }))
    const what = JSON.stringify(input['command'] ?? input['file_path'] ?? input).slice(0, 300)
    await this.#steer(`The call ${tool} ${what} was refused: ${reason}`)
  }
}

function toInput(text: string) {
  return [{ type: 'text', text, text_elements: [] }]
}

/** Codex records a call before it asks about it; on a busy machine that takes a moment. */
const WRITTEN_MS = 15_000
const POLL_MS = 20

const WrittenCall = z.looseObject({
  payload: z.looseObject({ type: z.literal('function_call'), call_id: z.string(), arguments: z.string() }),
})

/**
 * Codex's own record of a resumed conversation. Only the model's original call says that it is to run outside of the sandbox. In a new
 * conversation Codex sends us that call; in a resumed one it is in the record alone.
 */
export class Rollout {
  readonly #reader: TranscriptReader
  readonly #unsandboxed = new Map<string, boolean>()

  constructor(path: string) {
    this.#reader = new TranscriptReader({ path, offset: fileSize(path) })
  }

  /** A call that is not found in time counts as one that wants to leave the sandbox. */
  async isUnsandboxed(callId: string, signal: AbortSignal, writtenMs = WRITTEN_MS): Promise<boolean> {
    for (const until = Date.now() + writtenMs; !signal.aborted; ) {
      this.#read()
      const isUnsandboxed = this.#unsandboxed.get(callId)
      if (isUnsandboxed !== undefined) return isUnsandboxed
      if (Date.now() > until) break
      await sleep(POLL_MS, undefined, { signal }).catch(() => undefined)
    }
    return true
  }

  #read(): void {
    for (const line of this.#reader.read()) {
      const call = WrittenCall.safeParse(line).data?.payload
      if (call) this.#unsandboxed.set(call.call_id, wantsUnsandboxed(call.arguments))
    }
  }
}
