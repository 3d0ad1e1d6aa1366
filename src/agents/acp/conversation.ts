import { ZodError } from 'zod'
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
import { AcpTranslator } from './translator.ts'
import { type AcpToolCall, RpcError, Stopped } from './wire.ts'

interface AcpSessionLink extends SessionLink {
  notify(method: string, params: unknown): void
}

type Update = Record<string, unknown> & { sessionUpdate: string }

/** What is said and done in one session with an agent over ACP. Processes and pipes are the session's. */
export class AcpConversation {
  readonly turns: AgentTurns
  /** Tools of ours that the agent is given. */
  readonly own: OwnTools | undefined
  readonly #open: OpenSession
  readonly #manifest: AgentManifest
  readonly #line: AcpSessionLink
  readonly #translator: AcpTranslator
  readonly #steering: AcpSteering
  readonly #prompting: PromptExchange
  #turnOver: () => void = () => undefined
  #turnStopped: () => void = () => undefined
  #heard = false

  constructor(open: OpenSession, manifest: AgentManifest, line: AcpSessionLink) {
    this.#open = open
    this.#manifest = manifest
    this.#line = line
    const { ownTools: names = [] } = open
    const way = manifest.ownTools
    if (names.length > 0 && way && 'called' in way) this.own = new OwnTools(names, way.called)
    const translator = new AcpTranslator(manifest, { resumed: open.resume !== undefined, own: this.own })
    this.#translator = translator
    this.#prompting = new PromptExchange({ open, manifest, line, translator })
    this.#steering = new AcpSteering(prompt => line.request('_session/steering', { ...this.#here, ...prompt }))
    this.turns = new AgentTurns({
      ...{ open, line, reading: translator },
      manner: {
        name: manifest.name,
        begin: turn => this.#prompting.begin(turn, this.turns),
        cancel: () => {
          this.calls.fall()
          line.notify('session/cancel', this.#here)
          this.#turnStopped()
        },
        steer: text => this.#steering.say(text),
        over: (turn, ended) => this.#over(turn, ended),
      },
    })
  }

  /** Whether the model has said or wanted anything since the session was opened. */
  get heard(): boolean {
    return this.#heard
  }

  get calls(): AcpCalls {
    return this.#translator.calls
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
      enforceMode(update, { manifest: this.#manifest, open: this.#open, line: this.#line, ...this.#here })
    else if (this.turns.running) this.#follow(update)
    // Whatever else is told outside of a turn is the past of a resumed conversation.
    else if (update.sessionUpdate === 'usage_update') this.#translator.read(update)
  }

  /** What the gate needs to know of this conversation. */
  keeper(asks: CheckedAsks, note: (note: RecorderNote) => void): AcpGateCallbacks {
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
        this.#line.tell([...this.#translator.flush(), { kind: 'question', callId, questions }]),
      refused: (call, reason) => this.#refused(call, reason),
      denied: () => {
        if (this.turns.current) this.turns.current.denials++
      },
      declined: reason => void this.turns.current?.untold.push(`Your question has no answer: ${reason}`),
      parked: what => {
        if (!this.turns.current) return
        this.turns.current.parked = what
        this.turns.cancel()
      },
    }
  }

  #called(call: AcpToolCall, by: { agentId?: string }): void {
    this.#listened()
    this.#line.tell([...this.#translator.flush(), ...this.calls.request(call, by)])
  }

  get #here(): { sessionId: string | undefined } {
    return { sessionId: this.turns.vendorId }
  }

  #follow(update: Update): void {
    const events = this.#translator.read(update)
    if (events.length > 0 || update.sessionUpdate === 'agent_message_chunk') this.#listened()
    this.#line.tell(events)
    for (const event of events) {
      if (event.kind === 'limit') this.#prompting.limited(event)
      if (event.kind === 'tool_result') this.#toolEnded()
    }
    this.#lookAgain()
    this.#explain()
    this.turns.mindCap()
  }

  #listened(): void {
    this.#heard = true
    this.#prompting.heard()
  }

  #over(turn: AgentTurn, ended: TurnEnded): void {
    this.#prompting.ended(turn, ended)
    this.calls.forget()
    this.#turnOver()
  }

  #refused(call: AcpToolCall, reason: string): void {
    const turn = this.turns.current
    if (!turn) return
    turn.denials++
    this.calls.fall()
    this.#line.tell(this.calls.result(call, { ok: false, output: reason }))
    turn.untold.push(`The call "${call.title ?? call.name ?? call.toolCallId}" was refused: ${reason}`)
  }

  /** Said earlier, it would be heard too late or push a running tool aside; said between two rounds it is heard at once. */
  #explain(): void {
    const turn = this.turns.current
    if (!turn || !this.#steering.isHeard || turn.untold.length === 0 || this.calls.open > 0) return
    void this.#steering.say(turn.untold.splice(0).join('\n'))
  }

  #withheld(tool: string): string | undefined {
    const { tools, disallowedTools = [] } = this.#open
    if (disallowedTools.includes(tool) || (tools && !tools.includes(tool)))
      return `Not allowed: this session has no ${tool}. Go on without it.`
    return undefined
  }

  /** A call ran that nobody judged: the agent must not go on. */
  #lookAgain(): void {
    const { unjudged } = this.#translator
    if (unjudged === undefined) return
    this.#translator.unjudged = undefined
    const message = `A tool call ran without being judged, so the session was ended: ${unjudged}`
    this.#line.cutOff({ kind: 'other', message })
  }

  #toolEnded(): void {
    if (this.turns.current?.pausing && this.calls.running === 0) this.turns.cancel()
  }
}

/** A model that is refused again and again without end is not told why without end. */
const MAX_FOLLOW_UPS = 20

interface PromptingDeps {
  open: OpenSession
  manifest: AgentManifest
  line: SessionLink
  translator: AcpTranslator
}

/** Sends the prompt of a turn and reads the answer, with what some agents need to be told beside it. */
class PromptExchange {
  readonly #deps: PromptingDeps
  /** What was said in turns that broke, where the agent forgets them. */
  readonly #forgotten: string[] = []
  #limit: LimitEvent | undefined
  #isHeard = false

  constructor(deps: PromptingDeps) {
    this.#deps = deps
  }

  /** The model has said or wanted something in this turn. */
  heard(): void {
    this.#isHeard = true
  }

  limited(event: LimitEvent): void {
    this.#limit = event
  }

  begin(turn: AgentTurn, turns: AgentTurns): void {
    this.#limit = undefined
    this.#isHeard = false
    void this.#prompt(turn, turns)
  }

  ended({ prompt }: AgentTurn, { outcome }: TurnEnded): void {
    if (outcome === 'completed') this.#forgotten.length = 0
    else if (this.#deps.manifest.forgetsBrokenTurns) this.#forgotten.push(prompt)
  }

  async #prompt(turn: AgentTurn, turns: AgentTurns): Promise<void> {
    const { line, translator } = this.#deps
    let next: string | undefined = this.#reminded(turn.prompt)
    try {
      for (let rest = MAX_FOLLOW_UPS; next !== undefined; rest--) {
        const prompt = [{ type: 'text', text: next }]
        const stopped = Stopped.parse(await line.request('session/prompt', { sessionId: turns.vendorId, prompt }))
        line.tell([...translator.flush(), ...translator.spending.turn(stopped)])
        next = rest > 0 ? this.#followUp(turn) : undefined
        if (next === undefined) turns.over(turn, this.#isWithheld(stopped) ? { failure: WITHHELD } : { stopped })
      }
    } catch (error) {
      // Only what the agent answers is the turn's own: one that is gone ends the session, and with it the turn.
      if (RpcError.safeParse(error).success || error instanceof ZodError)
        turns.over(turn, { failure: this.#failure(error) })
    }
  }

  #reminded(text: string): string {
    if (this.#forgotten.length === 0) return text
    const before = this.#forgotten.join('\n\n')
    return `You were asked this before, and stopped in the middle of it; look at what is done already:\n\n${before}\n\n${text}`
  }

  /** An agent that gives up with a refused call is told why, and goes on in the same turn. */
  #followUp(turn: AgentTurn): string | undefined {
    if (!this.#deps.manifest.refusalEndsTurn || turn.cancelled || turn.untold.length === 0) return undefined
    const reasons = turn.untold.splice(0).join('\n')
    this.#deps.translator.words.takeLast()
    return `${reasons}\nGo on another way, or leave it and say so.`
  }

  /** Nothing was said and nothing was wanted, and yet it is complete. */
  #isWithheld({ stopReason }: Stopped): boolean {
    return this.#deps.manifest.silentRefusals === true && stopReason === 'end_turn' && !this.#isHeard
  }

  #failure(error: unknown): Failure {
    const { line, open, translator } = this.#deps
    const failure = rpcFailure(error)
    // Some agents say the error as if the model had: it is told once, as what it is.
    const said = translator.words.drop().trim()
    if (said && !isErrorText(said, failure)) line.tell([{ kind: 'text', text: said }])
    if (failure.kind !== 'limit') return failure
    const { TZ: tz } = open.env
    return { ...failure, limit: readTurnLimit(failure.message, { event: this.#limit, now: Date.now(), tz }) }
  }
}

const WITHHELD: Failure = {
  kind: 'refusal',
  message: 'The vendor withheld the answer: the agent ended its turn without a word.',
}

function isErrorText(said: string, failure: Failure): boolean {
  return failure.message.includes(said) || said.includes(failure.message) || /^(API Error|You've hit your)/.test(said)
}

/** A word to an agent in the middle of its turn, for those that have a way to hear it. */
class AcpSteering {
  /** Whether this agent hears it: it says so when it introduces itself. */
  isHeard = false
  readonly #send: (prompt: Record<string, unknown>) => Promise<unknown>

  constructor(send: (prompt: Record<string, unknown>) => Promise<unknown>) {
    this.#send = send
  }

  /** Whether it was heard. What was not is to be told otherwise, or not at all. */
  async say(text: string): Promise<boolean> {
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
