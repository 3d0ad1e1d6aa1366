import { ZodError } from 'zod'
import type { AgentManifest } from '../../domain/agents/manifest.ts'
import type { Failure, OpenSession, SessionEvent } from '../../domain/session.ts'
import type { CheckedAsks } from '../checked-asks.ts'
import type { Note } from '../recorder.ts'
import { Turn } from '../turns/turn.ts'
import type { GateKeeper } from './client/gate.ts'
import type { CallBook } from './messages/call-book.ts'
import { rpcFailure } from './messages/failure.ts'
import { limitOf } from './messages/limits.ts'
import { Translator } from './messages/translator.ts'
import type { OpenedConversation } from './open-conversation.ts'
import { Steering } from './steering.ts'
import { ModeUpdate, RpcError, Stopped, type ToolCall } from './wire/schemas.ts'

/** A model that is refused again and again without end is not told why without end. */
const MAX_FOLLOW_UPS = 20

interface Line {
  tell(events: SessionEvent[]): void
  request(method: string, params: unknown): Promise<unknown>
  notify(method: string, params: unknown): void
  /** The session ends by itself. */
  leave(): void
  cutOff(failure: Failure): void
  stopMs: number
}

type LimitEvent = Extract<SessionEvent, { kind: 'limit' }>

/** What is said and done in one session, turn by turn. Processes and pipes are the session's. */
export class Conversation {
  vendorId: string | undefined
  readonly #open: OpenSession
  readonly #manifest: AgentManifest
  readonly #line: Line
  readonly #translator: Translator
  readonly #steering: Steering
  readonly #waiting: string[] = []
  /** What was said in turns that broke, where the agent forgets them. */
  readonly #forgotten: string[] = []
  #turn: Turn | undefined
  #turnOwed = false
  #started = false
  #limit: LimitEvent | undefined
  #idle = Promise.withResolvers<void>()
  #stopTimer: NodeJS.Timeout | undefined
  #turnOver: () => void = () => undefined
  #heard = false
  #heardInTurn = false

  constructor(open: OpenSession, manifest: AgentManifest, line: Line) {
    this.#open = open
    this.#manifest = manifest
    this.#line = line
    this.#translator = new Translator(manifest, { resumed: open.resume !== undefined })
    this.#steering = new Steering(prompt => line.request('_session/steering', { sessionId: this.vendorId, ...prompt }))
    if (open.resume && !open.resume.fork) this.vendorId = open.resume.vendorId
  }

  get running(): boolean {
    return this.#turn !== undefined
  }

  /** Whether the model has said or wanted anything since the session was opened. */
  get heard(): boolean {
    return this.#heard
  }

  get calls(): CallBook {
    return this.#translator.calls
  }

  onTurnOver(listener: () => void): void {
    this.#turnOver = listener
  }

  /** A prompt was given: whatever happens, the end of a turn is told. */
  owed(): void {
    this.#turnOwed = true
  }

  /** It came to nothing: there is no turn whose end could be told. */
  dropped(): void {
    this.#turn = undefined
    this.#turnOwed = false
    this.#waiting.length = 0
  }

  /** Resolves when no turn runs. */
  async idle(): Promise<void> {
    if (this.#turn) await this.#idle.promise
  }

  opened({ vendorId, model, version, steers }: OpenedConversation): void {
    this.vendorId = vendorId
    this.#steering.isHeard = steers
    this.#started = true
    const resumed = this.#open.resume !== undefined
    const { cwd } = this.#open
    this.#line.tell([{ kind: 'started', vendorId, model, cwd, tools: [], resumed, ...(version && { version }) }])
  }

  /** The next turn, or a word in the middle of one. */
  async say(text: string): Promise<void> {
    if (this.#turn && (await this.#steering.say(text))) return
    this.#waiting.push(text)
    if (!this.#turn) this.#next()
  }

  pause(): void {
    if (!this.#turn) return
    this.#turn.pausing = true
    // With a tool in flight it ends with the tool; else there is nothing to wait for.
    if (this.calls.running === 0) this.#cancel()
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
  }

  updated(update: Record<string, unknown> & { sessionUpdate: string }): void {
    if (update.sessionUpdate === 'current_mode_update') this.#keepMode(update)
    else if (this.#turn) this.#follow(update)
    // Whatever else is told outside of a turn is the past of a resumed conversation.
    else if (update.sessionUpdate === 'usage_update') this.#translator.read(update)
  }

  #follow(update: Record<string, unknown> & { sessionUpdate: string }): void {
    const events = this.#translator.read(update)
    if (events.length > 0 || update.sessionUpdate === 'agent_message_chunk') this.#listened()
    this.#line.tell(events)
    for (const event of events) {
      if (event.kind === 'limit') this.#limit = event
      if (event.kind === 'tool_result') this.#toolEnded(event, update)
    }
    this.#explain()
    this.#mindCap()
  }

  /** The last events: the end of a turn that is still owed, then `ended`. */
  end(failure: Failure | undefined): SessionEvent[] {
    const turn = this.#turn ?? (this.#turnOwed ? new Turn('') : undefined)
    const how = failure && { failure }
    const cut = turn && !failure && !turn.parked
    if (cut) turn.interrupting = true
    const words = { text: this.#translator.words.takeLast(), rounds: this.#translator.rounds }
    const ended = turn?.ended(how ?? { stopped: { stopReason: 'cancelled' } }, words)
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
    return {
      asks,
      cwd: this.#open.cwd,
      turn: () => this.#turn?.stop.signal ?? AbortSignal.abort(),
      withheld: tool => this.#withheld(tool),
      called: (call, by) => {
        this.#listened()
        this.#line.tell([...this.#translator.flush(), ...this.calls.request(call, by)])
      },
      asked: ask => note({ pcc: 'ask', ...ask }),
      questioned: ({ callId, questions }) =>
        this.#line.tell([...this.#translator.flush(), { kind: 'question', callId, questions }]),
      refused: (call, reason) => this.#refused(call, reason),
      declined: reason => void this.#turn?.untold.push(`Your question has no answer: ${reason}`),
      parked: what => {
        if (!this.#turn) return
        this.#turn.parked = what
        this.#cancel()
      },
    }
  }

  #begin(text: string): void {
    this.#turn = new Turn(text)
    this.#turnOwed = true
    this.#idle = Promise.withResolvers<void>()
    this.#limit = undefined
    this.#heardInTurn = false
    this.#translator.begin()
    void this.#prompt(this.#turn, this.#reminded(text))
  }

  #reminded(text: string): string {
    if (this.#forgotten.length === 0) return text
    const before = this.#forgotten.join('\n\n')
    return `You were asked this before, and stopped in the middle of it; look at what is done already:\n\n${before}\n\n${text}`
  }

  async #prompt(turn: Turn, text: string): Promise<void> {
    try {
      for (let next: string | undefined = text, rest = MAX_FOLLOW_UPS; next !== undefined; rest--) {
        const answer = await this.#line.request('session/prompt', {
          sessionId: this.vendorId,
          prompt: [{ type: 'text', text: next }],
        })
        const stopped = Stopped.parse(answer)
        this.#line.tell([...this.#translator.flush(), ...this.#translator.spending.turn(stopped)])
        next = rest > 0 ? this.#followUp(turn) : undefined
        if (next === undefined) this.#over(turn, this.#isWithheld(stopped) ? { failure: WITHHELD } : { stopped })
      }
    } catch (error) {
      // Only what the agent answers is the turn's own: one that is gone ends the session, and with it the turn.
      if (RpcError.safeParse(error).success || error instanceof ZodError) this.#failed(turn, error)
    }
  }

  #listened(): void {
    this.#heard = true
    this.#heardInTurn = true
  }

  /** Nothing was said and nothing was wanted, and yet it is complete. */
  #isWithheld({ stopReason }: Stopped): boolean {
    return this.#manifest.silentRefusals === true && stopReason === 'end_turn' && !this.#heardInTurn
  }

  /** An agent that gives up with a refused call is told why, and goes on in the same turn. */
  #followUp(turn: Turn): string | undefined {
    if (!this.#manifest.refusalEndsTurn || turn.cancelled || turn.untold.length === 0) return undefined
    const reasons = turn.untold.splice(0).join('\n')
    this.#translator.words.takeLast()
    return `${reasons}\nGo on another way, or leave it and say so.`
  }

  #failed(turn: Turn, error: unknown): void {
    const failure = rpcFailure(error)
    // Some agents say the error as if the model had: it is told once, as what it is.
    const said = this.#translator.words.drop().trim()
    if (said && !isErrorText(said, failure)) this.#line.tell([{ kind: 'text', text: said }])
    const { TZ: tz } = this.#open.env
    const limit = () => limitOf(failure.message, { event: this.#limit, now: Date.now(), tz })
    this.#over(turn, { failure: failure.kind === 'limit' ? { ...failure, limit: limit() } : failure })
  }

  #over(turn: Turn, end: { stopped: Stopped } | { failure: Failure }): void {
    if (this.#turn !== turn) return
    clearTimeout(this.#stopTimer)
    turn.stop.abort()
    const words = { text: this.#translator.words.takeLast(), rounds: this.#translator.rounds }
    const ended = turn.ended(end, words)
    this.#line.tell([...this.#translator.flush(), ended])
    if (ended.outcome === 'completed') this.#forgotten.length = 0
    else if (this.#manifest.forgetsBrokenTurns) this.#forgotten.push(turn.prompt)
    this.#turn = undefined
    this.#turnOwed = false
    this.calls.forget()
    this.#turnOver()
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
    this.#line.notify('session/cancel', { sessionId: this.vendorId })
    const message = `${this.#manifest.name} was told to stop and went on, so it was ended.`
    this.#stopTimer = setTimeout(() => this.#line.cutOff({ kind: 'other', message }), this.#line.stopMs).unref()
  }

  #refused(call: ToolCall, reason: string): void {
    const turn = this.#turn
    if (!turn) return
    turn.denials++
    this.#line.tell(this.calls.result(call, { ok: false, output: reason }))
    const told = `The call "${call.title ?? call.name ?? call.toolCallId}" was refused: ${reason}`
    turn.untold.push(told)
  }

  /** Said earlier, it would be heard too late or push a running tool aside; said between two rounds it is heard at once. */
  #explain(): void {
    const turn = this.#turn
    if (!turn || !this.#steering.isHeard || turn.untold.length === 0 || this.calls.open > 0) return
    const reasons = turn.untold.splice(0)
    void this.#steering.say(reasons.join('\n'))
  }

  #withheld(tool: string): string | undefined {
    const { tools, disallowedTools = [] } = this.#open
    if (disallowedTools.includes(tool) || (tools && !tools.includes(tool)))
      return `Not allowed: this session has no ${tool}. Go on without it.`
    return undefined
  }

  #toolEnded({ callId, ok }: { callId: string; ok: boolean }, update: Record<string, unknown>): void {
    const turn = this.#turn
    if (!turn) return
    if (ok && this.#manifest.hold === 'every-call' && !this.calls.isAllowed(callId) && !this.#isInert(callId)) {
      const call = `${String(update['title'] ?? update['name'] ?? '')} (${callId})`
      const message = `A tool call ran without being judged, so the session was ended: ${call}`
      this.#line.cutOff({ kind: 'other', message })
    } else if (turn.pausing && this.calls.running === 0) this.#cancel()
  }

  /** Another mode may not ask: the agent is put back. */
  #keepMode(update: Record<string, unknown>): void {
    const { modes, name } = this.#manifest
    const changed = leftMode(update, modes)
    if (changed === undefined) return
    this.#line.request('session/set_mode', { sessionId: this.vendorId, modeId: modes.work }).catch(error => {
      const message = `${name} changed to the mode "${changed}" and did not change back: ${rpcFailure(error).message}`
      this.#line.cutOff({ kind: 'other', message })
    })
  }

  #isInert(callId: string): boolean {
    const { title, kind } = this.calls.add({ toolCallId: callId })
    return kind === 'other' && (this.#manifest.tools.inert ?? []).includes(title ?? '')
  }

  #mindCap(): void {
    const { maxTurns } = this.#open
    if (!this.#turn || maxTurns === undefined || this.#translator.rounds <= maxTurns) return
    this.#turn.capped = true
    this.#cancel()
  }
}

const WITHHELD: Failure = {
  kind: 'refusal',
  message: 'The vendor withheld the answer: the agent ended its turn without a word.',
}

/** The mode that an agent has changed to by itself, where it is not one of those that it was given. */
function leftMode(update: Record<string, unknown>, { work, readOnly }: AgentManifest['modes']): string | undefined {
  const mode = ModeUpdate.safeParse(update).data?.currentModeId
  return work === undefined || mode === work || mode === readOnly ? undefined : mode
}

function isErrorText(said: string, failure: Failure): boolean {
  return failure.message.includes(said) || said.includes(failure.message) || /^(API Error|You've hit your)/.test(said)
}
