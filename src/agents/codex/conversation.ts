import type { Failure, OpenSession, SessionEvent } from '../../domain/session.ts'
import type { CheckedAsks } from '../checked-asks.ts'
import type { Note } from '../recorder.ts'
import { Turn } from '../turns/turn.ts'
import type { GateKeeper } from './gate.ts'
import type { Calls } from './messages/calls.ts'
import { rpcFailure, turnFailure } from './messages/failure.ts'
import { type LimitEvent, limitOf } from './messages/limits.ts'
import type { Named } from './messages/named-calls.ts'
import { Translator } from './messages/translator.ts'
import type { OpenedThread } from './start/open-thread.ts'
import { POLICY } from './start/policy.ts'
import { ErrorTold, ItemTold, RpcError, ThreadSettings, TurnBegun, TurnCompleted, Typed } from './wire/schemas.ts'

/** Calls that the model made at once are asked one after the other, in an order of Codex's own, within some milliseconds. */
const BESIDE_MS = 300

interface Line {
  tell(events: SessionEvent[]): void
  request(method: string, params: unknown): Promise<unknown>
  /** The session ends by itself. */
  leave(): void
  cutOff(failure: Failure): void
  stopMs: number
}

/** What is said and done in one session, turn by turn. Processes and pipes are the session's. */
export class Conversation {
  vendorId: string | undefined
  readonly #open: OpenSession
  readonly #line: Line
  readonly #translator: Translator
  readonly #waiting: string[] = []
  #turn: Turn | undefined
  #turnId: string | undefined
  #turnOwed = false
  #started = false
  #limit: LimitEvent | undefined
  /** Why this turn is given up, though Codex itself would try on. */
  #givenUp: Failure | undefined
  #idle = Promise.withResolvers<void>()
  #stopTimer: NodeJS.Timeout | undefined
  #parking: NodeJS.Timeout | undefined

  constructor(open: OpenSession, line: Line) {
    this.#open = open
    this.#line = line
    this.#translator = new Translator({ resumed: open.resume !== undefined })
    if (open.resume && !open.resume.fork) this.vendorId = open.resume.vendorId
  }

  get running(): boolean {
    return this.#turn !== undefined
  }

  /** The model has not answered anything yet: it may not have been called. */
  get unheard(): boolean {
    return this.#turn !== undefined && this.#translator.rounds === 0
  }

  get calls(): Calls {
    return this.#translator.calls
  }

  /** A prompt was given: whatever happens, the end of a turn is told. */
  owed(isOwed: boolean): void {
    this.#turnOwed = isOwed
  }

  /** Resolves when no turn runs. */
  async idle(): Promise<void> {
    if (this.#turn) await this.#idle.promise
  }

  opened({ vendorId, model, version }: OpenedThread): void {
    this.vendorId = vendorId
    this.#started = true
    const resumed = this.#open.resume !== undefined
    const { cwd } = this.#open
    this.#line.tell([{ kind: 'started', vendorId, model, cwd, tools: [], resumed, ...(version && { version }) }])
  }

  /** The next turn, or a word in the middle of one. */
  async say(text: string): Promise<void> {
    if (this.#turn && (await this.#steer(text))) return
    this.#waiting.push(text)
    if (!this.#turn) this.#next()
  }

  /** With a call in flight it ends with the call; else there is nothing to wait for. */
  pause({ atOnce = false }: { atOnce?: boolean } = {}): void {
    if (!this.#turn) return
    this.#turn.pausing = true
    if (atOnce || this.calls.running === 0) this.#cancel()
  }

  interrupt(): void {
    if (!this.#turn) return
    this.#turn.interrupting = true
    this.#cancel()
  }

  /** Nothing is asked and nothing is waited for any more. */
  stop(): void {
    this.#turn?.stop.abort()
    clearTimeout(this.#stopTimer)
    clearTimeout(this.#parking)
  }

  told(method: string, params: unknown): void {
    this.#watch(method, params)
    const isOurs = this.isOurs((params as { threadId?: unknown } | null)?.threadId)
    if (method === 'account/rateLimits/updated') this.#tell(method, params)
    else if (!isOurs) return
    else if (method === 'turn/completed') this.#completed(params)
    else if (method === 'turn/started') this.#begun(params)
    else if (method === 'error') this.#failing(params)
    // Told outside of a turn it is about the past of the conversation, or of a command that was left running.
    else if (this.#turn || method === 'item/completed') this.#tell(method, params)
    else if (method === 'thread/tokenUsage/updated') this.#translator.spending.past(params)
  }

  isOurs(threadId: unknown): boolean {
    return threadId !== undefined && threadId === this.vendorId
  }

  /** The last events: the end of a turn that is still owed, then `ended`. */
  end(failure: Failure | undefined): SessionEvent[] {
    const turn = this.#turn ?? (this.#turnOwed ? new Turn('') : undefined)
    if (turn && !failure && !turn.parked) turn.interrupting = true
    const words = { text: this.#translator.words.takeLast(), rounds: this.#translator.rounds }
    const ended = turn?.ended(failure ? { failure } : { stopped: { stopReason: 'cancelled' } }, words)
    this.#turn = undefined
    this.#turnOwed = false
    const reason = failure ? (this.#started && failure.kind === 'agent_crashed' ? 'crashed' : 'failed') : 'closed'
    return [
      ...this.#translator.flush(),
      ...(ended ? [ended] : []),
      { kind: 'ended', reason, ...(failure && { failure }) },
    ]
  }

  /** What the gate needs to know of this conversation. */
  keeper(asks: CheckedAsks, note: (note: Note) => void): GateKeeper {
    const { cwd, tools, disallowedTools = [], ownTools = [] } = this.#open
    return {
      asks,
      ...{ cwd, tools, disallowedTools, ownTools },
      isOurs: threadId => this.isOurs(threadId),
      turn: () => this.#turn?.stop.signal ?? AbortSignal.abort(),
      isStopping: () => this.#isStopping,
      called: (callId, call) => this.#line.tell([...this.#translator.flush(), ...this.calls.request(callId, call)]),
      asked: ask => note({ pcc: 'ask', ...ask }),
      questioned: ({ callId, questions }) =>
        this.#line.tell([...this.#translator.flush(), { kind: 'question', callId, questions }]),
      refused: (callId, call, reason) => this.#refused(callId, call, reason),
      parked: what => {
        if (!this.#turn) return
        this.calls.park(what.callId)
        if (this.#turn.parked) return
        this.#turn.parked = what
        this.#parking = setTimeout(() => this.#parkingOver(), BESIDE_MS).unref()
      },
    }
  }

  get #isStopping(): boolean {
    return this.#turn !== undefined && (this.#turn.pausing || (this.#turn.parked !== undefined && !this.#parking))
  }

  #parkingOver(): void {
    this.#parking = undefined
    if (this.calls.running === 0) this.#cancel()
  }

  #tell(method: string, params: unknown): void {
    const events = this.#translator.read(method, params)
    this.#line.tell(events)
    for (const event of events) if (event.kind === 'limit') this.#limit = event
    if (!this.#turn) return
    if (this.#isStopping && this.calls.running === 0) this.#cancel()
    this.#mindCap(this.#turn)
  }

  /** What runs without having been judged, in our conversation or another, ends all of it. */
  #watch(method: string, params: unknown): void {
    const item = method === 'item/completed' ? ItemTold.safeParse(params).data?.item : undefined
    const unjudged = item && this.calls.unjudged(item)
    const typed = method === 'item/commandExecution/terminalInteraction' ? Typed.safeParse(params).data : undefined
    const call = unjudged ?? (typed?.stdin ? `input to a running command (${typed.itemId})` : undefined)
    if (call !== undefined) this.#cutOff(`A tool call ran without being judged, so the session was ended: ${call}`)
    const settings = method === 'thread/settings/updated' ? ThreadSettings.safeParse(params).data : undefined
    const { approvalPolicy, approvalsReviewer } = settings?.threadSettings ?? POLICY
    if (approvalPolicy !== POLICY.approvalPolicy || approvalsReviewer !== POLICY.approvalsReviewer)
      this.#cutOff('Codex changed its approval policy by itself, so the session was ended.')
  }

  #begin(text: string): void {
    const turn = new Turn(text)
    this.#turn = turn
    this.#turnId = undefined
    this.#turnOwed = true
    this.#idle = Promise.withResolvers<void>()
    this.#limit = undefined
    this.#givenUp = undefined
    this.#translator.begin()
    this.#line
      .request('turn/start', { threadId: this.vendorId, input: inputOf(text), ...POLICY })
      .then(begun => this.#begun(begun))
      // Only what Codex answers is the turn's own: one that is gone ends the session, and with it the turn.
      .catch(error => RpcError.safeParse(error).success && this.#over(turn, { failure: rpcFailure(error) }))
  }

  #begun(params: unknown): void {
    const id = TurnBegun.safeParse(params).data?.turn.id
    if (!this.#turn || id === undefined || this.#turnId !== undefined) return
    this.#turnId = id
    if (this.#turn.cancelled) this.#interruptNow()
  }

  #completed(params: unknown): void {
    const { turn: told } = TurnCompleted.safeParse(params).data ?? {}
    const turn = this.#turn
    if (!turn || !told || (this.#turnId !== undefined && told.id !== this.#turnId)) return
    const problem = this.#givenUp ?? (told.error ? turnFailure(told.error) : undefined)
    if (told.status !== 'completed' && problem) this.#over(turn, { failure: this.#limited(problem) })
    else if (told.status === 'completed') this.#over(turn, { stopped: { stopReason: 'end_turn' } })
    else if (turn.cancelled) this.#over(turn, { stopped: { stopReason: 'cancelled' } })
    else this.#over(turn, { failure: { kind: 'other', message: `Codex ended the turn by itself (${told.status}).` } })
  }

  /** An error that it gets over by itself: told as a retry, unless the retries are of no use. */
  #failing(params: unknown): void {
    const told = ErrorTold.safeParse(params).data
    if (!told?.willRetry || !this.#turn) return
    const failure = this.#limited(turnFailure(told.error))
    const [, attempt = '1', maxRetries = '1'] = /(\d+)\/(\d+)/.exec(told.error.message) ?? []
    this.#line.tell([{ kind: 'retry', attempt: Number(attempt), maxRetries: Number(maxRetries), delayMs: 0, failure }])
    // A limit would be waited out in silence, and a wrong key does not become right.
    if (failure.kind !== 'limit' && failure.kind !== 'auth') return
    this.#givenUp = failure
    this.#cancel()
  }

  #limited(failure: Failure): Failure {
    if (failure.kind !== 'limit') return failure
    const { TZ: tz } = this.#open.env
    return { ...failure, limit: limitOf(failure.message, { event: this.#limit, now: Date.now(), tz }) }
  }

  #over(turn: Turn, end: { stopped: { stopReason: string } } | { failure: Failure }): void {
    if (this.#turn !== turn) return
    clearTimeout(this.#stopTimer)
    clearTimeout(this.#parking)
    this.#parking = undefined
    turn.stop.abort()
    const events = this.#translator.flush()
    const words = { text: this.#translator.words.takeLast(), rounds: this.#translator.rounds }
    this.#line.tell([...events, turn.ended(end, words)])
    this.#turn = undefined
    this.#turnOwed = false
    this.calls.turnOver()
    this.#idle.resolve()
    if (turn.parked) this.#line.leave()
    else this.#next()
  }

  /** What was said in the middle of a turn and could not be heard there. */
  #next(): void {
    const text = this.#waiting.splice(0).join('\n\n')
    if (text) this.#begin(text)
  }

  #cancel(): void {
    const turn = this.#turn
    if (!turn || turn.cancelled) return
    turn.cancelled = true
    turn.stop.abort()
    if (this.#turnId !== undefined) this.#interruptNow()
    const message = 'Codex was told to stop and went on, so it was ended.'
    this.#stopTimer = setTimeout(() => this.#cutOff(message), this.#line.stopMs).unref()
  }

  /** One that is over by now answers with an error, and its end is told all the same. */
  #interruptNow(): void {
    const { vendorId: threadId } = this
    this.#line.request('turn/interrupt', { threadId, turnId: this.#turnId }).catch(() => undefined)
  }

  /** Whether the model hears it in this turn, with its next step. */
  async #steer(text: string): Promise<boolean> {
    if (this.#turnId === undefined || this.#turn?.cancelled) return false
    try {
      const about = { threadId: this.vendorId, expectedTurnId: this.#turnId }
      await this.#line.request('turn/steer', { ...about, input: inputOf(text) })
      return true
    } catch {
      return false
    }
  }

  /** Codex only says that it was rejected: the reason is said before, so that both are heard at once. */
  async #refused(callId: string, { tool, input }: Named, reason: string): Promise<void> {
    if (!this.#turn) return
    this.#turn.denials++
    this.#line.tell(this.calls.result(callId, { ok: false, output: reason }))
    const what = JSON.stringify(input['command'] ?? input['file_path'] ?? input).slice(0, 300)
    await this.#steer(`The call ${tool} ${what} was refused: ${reason}`)
  }

  #cutOff(message: string): void {
    this.#line.cutOff({ kind: 'other', message })
  }

  #mindCap(turn: Turn): void {
    const { maxTurns } = this.#open
    if (maxTurns === undefined || this.#translator.rounds <= maxTurns) return
    turn.capped = true
    this.#cancel()
  }
}

function inputOf(text: string) {
  return [{ type: 'text', text, text_elements: [] }]
}
