import type { AgentManifest } from '../../domain/agents/manifest.ts'
import type { OpenSession } from '../../domain/session.ts'
import type { CheckedAsks } from '../checked-asks.ts'
import { OwnTools } from '../own-tools/own-tools.ts'
import type { Note } from '../recorder.ts'
import type { Line } from '../turns/manner.ts'
import type { Turn, TurnEnded } from '../turns/turn.ts'
import { Turns } from '../turns/turns.ts'
import type { GateKeeper } from './client/gate.ts'
import type { CallBook } from './messages/call-book.ts'
import { Translator } from './messages/translator.ts'
import { keepMode } from './modes.ts'
import type { OpenedConversation } from './open-conversation.ts'
import { Prompting } from './prompting.ts'
import { Steering } from './steering.ts'
import type { ToolCall } from './wire/schemas.ts'

interface AcpLine extends Line {
  notify(method: string, params: unknown): void
}

type Update = Record<string, unknown> & { sessionUpdate: string }

/** What is said and done in one session with an agent over ACP. Processes and pipes are the session's. */
export class Conversation {
  readonly turns: Turns
  /** Tools of ours that the agent is given. */
  readonly own: OwnTools | undefined
  readonly #open: OpenSession
  readonly #manifest: AgentManifest
  readonly #line: AcpLine
  readonly #translator: Translator
  readonly #steering: Steering
  readonly #prompting: Prompting
  #turnOver: () => void = () => undefined
  #turnStopped: () => void = () => undefined
  #heard = false

  constructor(open: OpenSession, manifest: AgentManifest, line: AcpLine) {
    this.#open = open
    this.#manifest = manifest
    this.#line = line
    const { ownTools: names = [] } = open
    const way = manifest.ownTools
    if (names.length > 0 && way && 'called' in way) this.own = new OwnTools(names, way.called)
    const translator = new Translator(manifest, { resumed: open.resume !== undefined, own: this.own })
    this.#translator = translator
    this.#prompting = new Prompting({ open, manifest, line, translator })
    this.#steering = new Steering(prompt => line.request('_session/steering', { ...this.#here, ...prompt }))
    this.turns = new Turns({
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

  get calls(): CallBook {
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
      keepMode(update, { manifest: this.#manifest, open: this.#open, line: this.#line, ...this.#here })
    else if (this.turns.running) this.#follow(update)
    // Whatever else is told outside of a turn is the past of a resumed conversation.
    else if (update.sessionUpdate === 'usage_update') this.#translator.read(update)
  }

  /** What the gate needs to know of this conversation. */
  keeper(asks: CheckedAsks, note: (note: Note) => void): GateKeeper {
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

  #called(call: ToolCall, by: { agentId?: string }): void {
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

  #over(turn: Turn, ended: TurnEnded): void {
    this.#prompting.ended(turn, ended)
    this.calls.forget()
    this.#turnOver()
  }

  #refused(call: ToolCall, reason: string): void {
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
