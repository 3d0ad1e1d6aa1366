import type { Failure, OpenSession } from '../../domain/session.ts'
import type { CheckedAsks } from '../checked-asks.ts'
import type { LimitEvent } from '../limits/recorded-limit.ts'
import { codexManifest } from '../manifests/codex.ts'
import type { Note } from '../recorder.ts'
import type { Line } from '../turns/manner.ts'
import type { Turn } from '../turns/turn.ts'
import { Turns } from '../turns/turns.ts'
import { breachIn } from './breach.ts'
import type { GateKeeper } from './gate.ts'
import type { Calls } from './messages/calls.ts'
import { rpcFailure, triesIn, turnEnd, turnFailure } from './messages/failure.ts'
import { limitOf } from './messages/limits.ts'
import type { Named } from './messages/named-calls.ts'
import { Translator } from './messages/translator.ts'
import { Rollout } from './rollout.ts'
import type { OpenedThread } from './start/open-thread.ts'
import { POLICY } from './start/policy.ts'
import { ErrorTold, RpcError, TurnBegun, TurnCompleted } from './wire/schemas.ts'

/** Calls that the model made at once are asked one after the other, in an order of Codex's own, within some milliseconds. */
const BESIDE_MS = 300

/** What is said and done in one session with Codex. Processes and pipes are the session's. */
export class Conversation {
  readonly turns: Turns
  readonly #open: OpenSession
  readonly #line: Line
  readonly #translator: Translator
  #rollout: Rollout | undefined
  #turnId: string | undefined
  #limit: LimitEvent | undefined
  /** Why this turn is given up, though Codex itself would try on. */
  #givenUp: Failure | undefined
  #parking: NodeJS.Timeout | undefined

  constructor(open: OpenSession, line: Line) {
    this.#open = open
    this.#line = line
    this.#translator = new Translator({ resumed: open.resume !== undefined })
    this.turns = new Turns({
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

  get calls(): Calls {
    return this.#translator.calls
  }

  opened(thread: OpenedThread): void {
    if (this.#open.resume) this.#rollout = new Rollout(thread.rollout ?? '')
    this.turns.opened(thread)
  }

  told(method: string, params: unknown): void {
    const breach = breachIn(method, params, this.calls)
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
  keeper(asks: CheckedAsks, note: (note: Note) => void): GateKeeper {
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

  #begin(turn: Turn): void {
    this.#turnId = undefined
    this.#limit = undefined
    this.#givenUp = undefined
    this.#line
      .request('turn/start', { threadId: this.turns.vendorId, input: inputOf(turn.prompt), ...POLICY })
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
    const told = ErrorTold.safeParse(params).data
    if (!told?.willRetry || !this.turns.running) return
    const failure = this.#limited(turnFailure(told.error))
    this.#line.tell([{ kind: 'retry', ...triesIn(told.error), delayMs: 0, failure }])
    // A limit would be waited out in silence, and a wrong key does not become right.
    if (failure.kind !== 'limit' && failure.kind !== 'auth') return
    this.#givenUp = failure
    this.turns.cancel()
  }

  #limited(failure: Failure): Failure {
    if (failure.kind !== 'limit') return failure
    const { TZ: tz } = this.#open.env
    return { ...failure, limit: limitOf(failure.message, { event: this.#limit, now: Date.now(), tz }) }
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
    const said = this.#line.request('turn/steer', { ...about, input: inputOf(text) })
    return said.then(
      () => true,
      () => false,
    )
  }

  /** Codex only says that it was rejected: the reason is said before, so that both are heard at once. */
  async #refused(callId: string, { tool, input }: Named, reason: string): Promise<void> {
    const turn = this.turns.current
    if (!turn) return
    turn.denials++
    this.#line.tell(this.calls.result(callId, { ok: false, output: reason }))
    const what = JSON.stringify(input['command'] ?? input['file_path'] ?? input).slice(0, 300)
    await this.#steer(`The call ${tool} ${what} was refused: ${reason}`)
  }
}

function inputOf(text: string) {
  return [{ type: 'text', text, text_elements: [] }]
}
