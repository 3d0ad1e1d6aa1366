import { setTimeout as sleep } from 'node:timers/promises'
import * as z from 'zod'
import type { Failure, OpenSession } from '../../domain/session.ts'
import type { CheckedAsks } from '../checked-asks.ts'
import { fileSize, TranscriptReader } from '../json-lines.ts'
import type { LimitEvent } from '../limits/reset-time.ts'
import { codexManifest } from '../manifests/codex.ts'
import type { RecorderNote } from '../session-output.ts'
import { type AgentTurn, AgentTurns, type SessionLink } from '../turns.ts'
import type { CodexCalls, CodexNamedCall } from './calls.ts'
import { readRetries, readTurnLimit, rpcFailure, turnEnd, turnFailure } from './failures.ts'
import type { CodexGateCallbacks } from './gate.ts'
import type { OpenedThread } from './open-thread.ts'
import { findBreach, POLICY } from './policy.ts'
import { CodexTranslator, wantsUnsandboxed } from './translator.ts'
import { ErrorNotice, RpcError, TurnBegun, TurnCompleted } from './wire.ts'

/** Calls that the model made at once are asked one after the other, in an order of Codex's own, within some milliseconds. */
const BESIDE_MS = 300

/** What is said and done in one session with Codex. Processes and pipes are the session's. */
export class CodexConversation {
  readonly turns: AgentTurns
  readonly #open: OpenSession
  readonly #line: SessionLink
  readonly #translator: CodexTranslator
  #rollout: Rollout | undefined
  #turnId: string | undefined
  #limit: LimitEvent | undefined
  /** Why this turn is given up, though Codex itself would try on. */
  #givenUp: Failure | undefined
  #parking: NodeJS.Timeout | undefined

  constructor(open: OpenSession, line: SessionLink) {
    this.#open = open
    this.#line = line
    this.#translator = new CodexTranslator({ resumed: open.resume !== undefined })
    this.turns = new AgentTurns({
      ...{ open, line, reading: this.#translator },
      manner: {
        name: codexManifest.name,
        begin: turn => this.#begin(turn),
        cancel: () => this.#interrupt(),
        steer: text => this.#steer(text),
        over: () => this.#over(),
      },
    })
  }

  /** The model has not answered anything yet: it may not have been called. */
  get unheard(): boolean {
    return this.turns.running && this.#translator.rounds === 0
  }

  get calls(): CodexCalls {
    return this.#translator.calls
  }

  opened(thread: OpenedThread): void {
    if (this.#open.resume) this.#rollout = new Rollout(thread.rollout ?? '')
    this.turns.opened(thread)
  }

  told(method: string, params: unknown): void {
    const breach = findBreach(method, params, this.calls)
    if (breach !== undefined) this.#line.cutOff({ kind: 'other', message: breach })
    const isOurs = this.#isOurs((params as { threadId?: unknown } | null)?.threadId)
    if (method === 'account/rateLimits/updated') this.#tell(method, params)
    else if (!isOurs) return
    else if (method === 'turn/completed') this.#completed(params)
    else if (method === 'turn/started') this.#begun(params)
    else if (method === 'error') this.#failing(params)
    // Told outside of a turn it is about the past of the conversation, or of a command that was left running.
    else if (this.turns.running || method === 'item/completed') this.#tell(method, params)
    else if (method === 'thread/tokenUsage/updated') this.#translator.spending.past(params)
  }

  /** What the gate needs to know of this conversation. */
  keeper(asks: CheckedAsks, note: (note: RecorderNote) => void): CodexGateCallbacks {
    const { cwd, tools, disallowedTools = [], ownTools = [] } = this.#open
    return {
      ...{ asks, cwd, tools, disallowedTools, ownTools },
      isOurs: threadId => this.#isOurs(threadId),
      turn: () => this.turns.signal,
      isUnfenced: async (callId, signal) =>
        this.#rollout ? this.#rollout.isUnfenced(callId, signal) : this.calls.isUnfenced(callId),
      heldMs: this.#line.stopMs,
      isStopping: () => this.#isStopping,
      called: (callId, call) => this.#line.tell([...this.#translator.flush(), ...this.calls.request(callId, call)]),
      asked: ask => note({ pcc: 'ask', ...ask }),
      questioned: ({ callId, questions }) =>
        this.#line.tell([...this.#translator.flush(), { kind: 'question', callId, questions }]),
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

  #tell(method: string, params: unknown): void {
    const events = this.#translator.read(method, params)
    this.#line.tell(events)
    for (const event of events) if (event.kind === 'limit') this.#limit = event
    if (this.#isStopping && this.calls.running === 0) this.turns.cancel()
    this.turns.mindCap()
  }

  #begin(turn: AgentTurn): void {
    this.#turnId = undefined
    this.#limit = undefined
    this.#givenUp = undefined
    this.#line
      .request('turn/start', { threadId: this.turns.vendorId, input: toInput(turn.prompt), ...POLICY })
      .then(begun => this.#begun(begun))
      // Only what Codex answers is the turn's own: one that is gone ends the session, and with it the turn.
      .catch(error => RpcError.safeParse(error).success && this.turns.over(turn, { failure: rpcFailure(error) }))
  }

  #begun(params: unknown): void {
    const id = TurnBegun.safeParse(params).data?.turn.id
    if (!this.turns.current || id === undefined || this.#turnId !== undefined) return
    this.#turnId = id
    if (this.turns.current.cancelled) this.#interrupt()
  }

  #completed(params: unknown): void {
    const { turn: told } = TurnCompleted.safeParse(params).data ?? {}
    const turn = this.turns.current
    if (!turn || !told || (this.#turnId !== undefined && told.id !== this.#turnId)) return
    const end = turnEnd(told, { givenUp: this.#givenUp, isCancelled: turn.cancelled })
    this.turns.over(turn, 'failure' in end ? { failure: this.#limited(end.failure) } : end)
  }

  /** An error that it gets over by itself: told as a retry, unless the retries are of no use. */
  #failing(params: unknown): void {
    const told = ErrorNotice.safeParse(params).data
    if (!told?.willRetry || !this.turns.running) return
    const failure = this.#limited(turnFailure(told.error))
    this.#line.tell([{ kind: 'retry', ...readRetries(told.error), delayMs: 0, failure }])
    // A limit would be waited out in silence, and a wrong key does not become right.
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

  /** One that has no name yet is stopped when it has; one that is over by now answers with an error, and its end is told all the same. */
  #interrupt(): void {
    if (this.#turnId === undefined) return
    const { vendorId: threadId } = this.turns
    this.#line.request('turn/interrupt', { threadId, turnId: this.#turnId }).catch(() => undefined)
  }

  /** Whether the model hears it in this turn, with its next step. */
  async #steer(text: string): Promise<boolean> {
    if (this.#turnId === undefined || this.turns.current?.cancelled) return false
    const about = { threadId: this.turns.vendorId, expectedTurnId: this.#turnId }
    const said = this.#line.request('turn/steer', { ...about, input: toInput(text) })
    return said.then(
      () => true,
      () => false,
    )
  }

  /** Codex only says that it was rejected: the reason is said before, so that both are heard at once. */
  async #refused(callId: string, { tool, input }: CodexNamedCall, reason: string): Promise<void> {
    const turn = this.turns.current
    if (!turn) return
    turn.denials++
    this.#line.tell(this.calls.result(callId, { ok: false, output: reason }))
    const what = JSON.stringify(input['command'] ?? input['file_path'] ?? input).slice(0, 300)
    await this.#steer(`The call ${tool} ${what} was refused: ${reason}`)
  }
}

function toInput(text: string) {
  return [{ type: 'text', text, text_elements: [] }]
}

/** Codex writes a call down before it asks about it; on a crowded machine that needs a moment. */
const WRITTEN_MS = 15_000
const LOOK_MS = 20

const WrittenCall = z.looseObject({
  payload: z.looseObject({ type: z.literal('function_call'), call_id: z.string(), arguments: z.string() }),
})

/**
 * Codex's own record of a conversation that is resumed. Only the call as the model made it says that it is to run outside of the sandbox;
 * in a conversation that is begun Codex tells us that, in one that is resumed it stands in the record alone.
 */
export class Rollout {
  readonly #reader: TranscriptReader
  readonly #wantsOut = new Map<string, boolean>()

  constructor(path: string) {
    this.#reader = new TranscriptReader({ path, offset: fileSize(path) })
  }

  /** A call of which nobody finds out in time is taken for one that wants to leave. */
  async isUnfenced(callId: string, signal: AbortSignal, writtenMs = WRITTEN_MS): Promise<boolean> {
    for (const until = Date.now() + writtenMs; !signal.aborted; ) {
      this.#read()
      const found = this.#wantsOut.get(callId)
      if (found !== undefined) return found
      if (Date.now() > until) break
      await sleep(LOOK_MS, undefined, { signal }).catch(() => undefined)
    }
    return true
  }

  #read(): void {
    for (const line of this.#reader.read()) {
      const call = WrittenCall.safeParse(line).data?.payload
      if (call) this.#wantsOut.set(call.call_id, wantsUnsandboxed(call.arguments))
    }
  }
}
