import { ZodError } from 'zod'
import type { Sandbox } from '../../base/sandbox/sandbox.ts'
import type { AgentManifest } from '../../domain/agent-manifest.ts'
import type { Failure, OpenSession } from '../../domain/session.ts'
import type { CheckedAsks } from '../checked-asks.ts'
import type { LimitEvent } from '../limits/reset-time.ts'
import { OwnTools } from '../own-tools.ts'
import type { RecorderNote } from '../session-output.ts'
import { type AgentTurn, AgentTurns, type SessionLink, type TurnEnded } from '../turns.ts'
import type { AcpCalls } from './calls.ts'
import { readTurnLimit, rpcFailure } from './failures.ts'
import type { AcpGateCallbacks } from './gate.ts'
import { enforceMode, type OpenedConversation } from './open-conversation.ts'
import { findRecordedError, recordOf } from './own-words.ts'
import { AcpTranslator } from './translator.ts'
import { type AcpToolCall, RpcError, Stopped } from './wire.ts'

interface AcpSessionLink extends SessionLink {
  notify(method: string, params: unknown): void
}

type Update = Record<string, unknown> & { sessionUpdate: string }

/** The conversation of one session with an agent over ACP. The session handles processes and pipes. */
export class AcpConversation {
  readonly turns: AgentTurns
  /** Our tools that the agent gets. */
  readonly own: OwnTools | undefined
  readonly #open: OpenSession
  readonly #manifest: AgentManifest
  readonly #link: AcpSessionLink
  readonly #translator: AcpTranslator
  readonly #steering: AcpSteering
  readonly #prompting: PromptExchange
  #turnOver: () => void = () => undefined
  #turnStopped: () => void = () => undefined
  #hasAnswered = false
  #parkTimer: NodeJS.Timeout | undefined

  constructor(open: OpenSession, manifest: AgentManifest, link: AcpSessionLink) {
    this.#open = open
    this.#manifest = manifest
    this.#link = link
    const { ownTools: names = [] } = open
    const { ownTools: scheme } = manifest
    if (names.length > 0 && scheme && 'called' in scheme) this.own = new OwnTools(names, scheme.called)
    const translator = new AcpTranslator(manifest, { resumed: open.resume !== undefined, own: this.own })
    this.#translator = translator
    this.#prompting = new PromptExchange({ open, manifest, link, translator })
    this.#steering = new AcpSteering(prompt => link.request('_session/steering', { ...this.#session, ...prompt }))
    this.turns = new AgentTurns({
      ...{ open, link, reader: translator },
      protocol: {
        name: manifest.name,
        begin: turn => this.#prompting.begin(turn, this.turns),
        cancel: () => {
          this.calls.excuseUnasked()
          link.notify('session/cancel', this.#session)
          this.#turnStopped()
        },
        steer: text => this.#steering.send(text),
        turnEnded: (turn, ended) => this.#over(turn, ended),
      },
    })
  }

  /** Whether the model has answered anything since the session was opened. */
  get hasAnswered(): boolean {
    return this.#hasAnswered
  }

  get calls(): AcpCalls {
    return this.#translator.calls
  }

  /** The agent was started with this environment. In a sandbox pcc keeps its conversations. */
  started(env: Record<string, string>, sandbox?: Pick<Sandbox, 'keptFolder'>): void {
    this.#prompting.home = sandbox?.keptFolder ?? env[this.#manifest.start.home?.variable ?? '']
  }

  onTurnOver(listener: () => void): void {
    this.#turnOver = listener
  }

  onTurnStopped(listener: () => void): void {
    this.#turnStopped = listener
  }

  opened(opened: OpenedConversation): void {
    this.#steering.isHeard = opened.steers
    this.turns.opened(opened)
  }

  updated(update: Update): void {
    if (update.sessionUpdate === 'current_mode_update')
      enforceMode(update, { manifest: this.#manifest, open: this.#open, link: this.#link, ...this.#session })
    else if (this.turns.running) this.#follow(update)
    // Other updates outside of a turn are the past of a resumed conversation.
    else if (update.sessionUpdate === 'usage_update') this.#translator.read(update)
  }

  /** What the gate needs from this conversation. */
  gateCallbacks(asks: CheckedAsks, note: (note: RecorderNote) => void): AcpGateCallbacks {
    return {
      asks,
      cwd: this.#open.cwd,
      turn: () => this.turns.signal,
      withheld: tool => this.#withheld(tool),
      called: (call, by) => this.#called(call, by),
      arrived: ({ callId, input, ...by }) => {
        const call = this.calls.announced(callId)
        if (call) this.#called(this.calls.add({ ...call, rawInput: input }), by)
      },
      asked: ask => note({ pcc: 'ask', ...ask }),
      questioned: ({ callId, questions }) =>
        this.#link.emit([...this.#translator.flush(), { kind: 'question', callId, questions }]),
      refused: (call, reason) => this.#refused(call, reason),
      denied: () => {
        if (this.turns.current) this.turns.current.denials++
      },
      declined: reason => void this.turns.current?.unexplained.push(`Your question has no answer: ${reason}`),
      parked: what => this.#parked(what),
    }
  }

  /** Ends the turn. Calls that were allowed beside the parked one may finish first: killed in the middle they would be half done. */
  #parked(what: { callId: string; tool: string }): void {
    const { current } = this.turns
    if (!current || current.parked) return
    current.parked = what
    const cancel = () => this.turns.current === current && this.turns.cancel()
    if (this.calls.hasGranted(what.callId)) this.#parkTimer = setTimeout(cancel, PARK_GRACE_MS).unref()
    else cancel()
  }

  #called(call: AcpToolCall, by: { agentId?: string }): void {
    this.#noteAnswer()
    this.#link.emit([...this.#translator.flush(), ...this.calls.request(call, by)])
  }

  get #session(): { sessionId: string | undefined } {
    return { sessionId: this.turns.vendorId }
  }

  #follow(update: Update): void {
    const events = this.#translator.read(update)
    if (events.length > 0 || update.sessionUpdate === 'agent_message_chunk') this.#noteAnswer()
    this.#link.emit(events)
    for (const event of events) {
      if (event.kind === 'limit') this.#prompting.limited(event)
      if (event.kind === 'tool_result') this.#toolEnded()
    }
    this.#checkUnjudged()
    this.#explain()
    this.turns.enforceCap()
  }

  #noteAnswer(): void {
    this.#hasAnswered = true
    this.#prompting.noteAnswer()
  }

  #over(turn: AgentTurn, ended: TurnEnded): void {
    clearTimeout(this.#parkTimer)
    this.#prompting.ended(turn, ended)
    this.calls.forget()
    this.#turnOver()
  }

  #refused(call: AcpToolCall, reason: string): void {
    const turn = this.turns.current
    if (!turn) return
    turn.denials++
    this.calls.excuseUnasked()
    this.#link.emit(this.calls.result(call, { ok: false, output: reason }))
    turn.unexplained.push(`The call "${call.title ?? call.name ?? call.toolCallId}" was refused: ${reason}`)
  }

  /** Sends the reasons of refused calls. Sent earlier they would arrive too late or displace a running tool; between two rounds the model sees them at once. */
  #explain(): void {
    const turn = this.turns.current
    if (!turn || !this.#steering.isHeard || turn.unexplained.length === 0 || this.calls.open > 0) return
    void this.#steering.send(turn.unexplained.splice(0).join('\n'))
  }

  #withheld(tool: string): string | undefined {
    const { tools, disallowedTools = [] } = this.#open
    if (disallowedTools.includes(tool) || (tools && !tools.includes(tool)))
      return `Not allowed: this session has no ${tool}. Go on without it.`
    return undefined
  }

  /** Ends the session when a call ran without being judged. */
  #checkUnjudged(): void {
    const { unjudged } = this.#translator
    if (unjudged === undefined) return
    this.#translator.unjudged = undefined
    const message = `A tool call ran without being judged, so the session was ended: ${unjudged}`
    this.#link.cutOff({ kind: 'other', message })
  }

  #toolEnded(): void {
    const { current } = this.turns
    if (current?.pausing && this.calls.running === 0) this.turns.cancel()
    if (current?.parked && !this.calls.hasGranted(current.parked.callId)) this.turns.cancel()
  }
}

/** How long calls that were allowed may go on after another was parked. Some agents start none of them before all are answered. */
const PARK_GRACE_MS = 5000

/** The most follow-up prompts in a turn, for a model whose calls are refused again and again. */
const MAX_FOLLOW_UPS = 20

interface PromptingDeps {
  open: OpenSession
  manifest: AgentManifest
  link: SessionLink
  translator: AcpTranslator
}

/** Sends the prompt of a turn and reads the answer, with the extra messages that some agents need. */
class PromptExchange {
  readonly #deps: PromptingDeps
  /** The prompts of broken turns, for an agent that forgets them. */
  readonly #forgotten: string[] = []
  #limit: LimitEvent | undefined
  #hasAnswered = false
  /** The home of the session, if it has one of its own. */
  home: string | undefined

  constructor(deps: PromptingDeps) {
    this.#deps = deps
  }

  /** The model has answered something in this turn. */
  noteAnswer(): void {
    this.#hasAnswered = true
  }

  limited(event: LimitEvent): void {
    this.#limit = event
  }

  begin(turn: AgentTurn, turns: AgentTurns): void {
    this.#limit = undefined
    this.#hasAnswered = false
    void this.#prompt(turn, turns)
  }

  ended({ prompt }: AgentTurn, { outcome }: TurnEnded): void {
    if (outcome === 'completed') this.#forgotten.length = 0
    else if (this.#deps.manifest.forgetsBrokenTurns) this.#forgotten.push(prompt)
  }

  async #prompt(turn: AgentTurn, turns: AgentTurns): Promise<void> {
    const { link, translator } = this.#deps
    let next: string | undefined = this.#withForgotten(turn.prompt)
    try {
      for (let rest = MAX_FOLLOW_UPS; next !== undefined; rest--) {
        const prompt = [{ type: 'text', text: next }]
        const began = Date.now()
        const stopped = Stopped.parse(await link.request('session/prompt', { sessionId: turns.vendorId, prompt }))
        const error = await this.#saidError(turns.vendorId, began)
        if (error) return turns.endTurn(turn, { failure: this.#failure(error) })
        link.emit([...translator.flush(), ...translator.spending.turn(stopped)])
        next = rest > 0 ? this.#followUp(turn) : undefined
        if (next === undefined) turns.endTurn(turn, this.#isWithheld(stopped) ? { failure: WITHHELD } : { stopped })
      }
    } catch (error) {
      // Only an error answer of the agent ends just the turn: an agent that is gone ends the session, and the turn with it.
      if (RpcError.safeParse(error).success || error instanceof ZodError)
        turns.endTurn(turn, { failure: this.#failure(error) })
    }
  }

  /** The error with which the agent ended its turn, if it says errors as words and its own record has one. */
  async #saidError(session: string | undefined, since: number): Promise<RpcError | undefined> {
    const { manifest, translator } = this.#deps
    if (!manifest.ownWords || !translator.saysError || this.home === undefined || session === undefined)
      return undefined
    const file = recordOf(manifest.ownWords.record, { home: this.home, session })
    return file === undefined ? undefined : findRecordedError(file, since)
  }

  #withForgotten(text: string): string {
    if (this.#forgotten.length === 0) return text
    const before = this.#forgotten.join('\n\n')
    return `You were asked this before, and stopped in the middle of it; look at what is done already:\n\n${before}\n\n${text}`
  }

  /** An agent that ends its turn at a refused call is sent the reason and goes on in the same turn. */
  #followUp(turn: AgentTurn): string | undefined {
    if (!this.#deps.manifest.refusalEndsTurn || turn.cancelled || turn.unexplained.length === 0) return undefined
    const reasons = turn.unexplained.splice(0).join('\n')
    this.#deps.translator.assembler.takeLast()
    return `${reasons}\nGo on another way, or leave it and say so.`
  }

  /** The turn is complete although the model answered nothing. */
  #isWithheld({ stopReason }: Stopped): boolean {
    return this.#deps.manifest.silentRefusals === true && stopReason === 'end_turn' && !this.#hasAnswered
  }

  #failure(error: unknown): Failure {
    const { link, open, translator } = this.#deps
    const failure = rpcFailure(error)
    // Some agents also report the error as text of the model: it is emitted once, as an error.
    const text = translator.assembler.drop().trim()
    if (text && !isErrorText(text, failure)) link.emit([{ kind: 'text', text }])
    if (failure.kind !== 'limit') return failure
    const { TZ: tz } = open.env
    return { ...failure, limit: readTurnLimit(failure.message, { event: this.#limit, now: Date.now(), tz }) }
  }
}

const WITHHELD: Failure = {
  kind: 'refusal',
  message: 'The vendor withheld the answer: the agent ended its turn without a word.',
}

function isErrorText(text: string, failure: Failure): boolean {
  return failure.message.includes(text) || text.includes(failure.message) || /^(API Error|You've hit your)/.test(text)
}

/** Sends messages to an agent in the middle of its turn, if the agent supports it. */
class AcpSteering {
  /** Whether this agent supports it: it says so when it introduces itself. */
  isHeard = false
  readonly #send: (prompt: Record<string, unknown>) => Promise<unknown>

  constructor(send: (prompt: Record<string, unknown>) => Promise<unknown>) {
    this.#send = send
  }

  /** Sends a message; true when the agent took it into the running turn. */
  async send(text: string): Promise<boolean> {
    if (!this.isHeard) return false
    try {
      const prompt = [{ type: 'text', text }]
      const answer = await this.#send({ prompt, _meta: { steering: { idleBehavior: 'promptRequired' } } })
      return (answer as { outcome?: unknown }).outcome === 'injected'
    } catch {
      return false
    }
  }
}
