import { AppError } from '../../base/errors.ts'
import type { Failure, OpenSession, Request } from '../../domain/session.ts'
import { checkedAsks } from '../checked-asks.ts'
import type { OwnTools } from '../own-tools.ts'
import { openToolServer } from '../own-tools-server.ts'
import { type AgentState, type AgentWindow, PromptTyper } from './agent-window.ts'
import { TmuxGate } from './gate.ts'
import { type WindowTools, withTerminal } from './launch.ts'
import type { TmuxRecord } from './record.ts'
import type { HookCall, HookReply } from './session-folder.ts'
import type { TmuxTurnEnd } from './transcript.ts'
import { describeAbsence, HANDED_BACK_PROMPT, RESUME_PROMPT, STOP_REASONS, TmuxTurn, unjudgedFailure } from './turn.ts'

interface TmuxConversationDeps {
  open: OpenSession
  record: TmuxRecord
  askDeadlineMs: number
  /** Aborts when the session is over. */
  closed: AbortSignal
  fail(failure: Failure): void
  /** Its call waits for a person. */
  leave(): void
}

/** What is said and done in one window, turn by turn: prompts go in by the keyboard, all else is told by hooks and by the agent's files. */
export class TmuxConversation {
  readonly turn = new TmuxTurn()
  readonly gate: TmuxGate
  /** Absent until it is open. */
  window: AgentWindow | undefined
  /** The agent has said that it is there. */
  isStarted = false
  readonly #deps: TmuxConversationDeps
  #own: OwnTools | undefined
  readonly #mouth = new PromptTyper(() => this.isTheirs)

  constructor(deps: TmuxConversationDeps) {
    this.#deps = deps
    const { open, record, askDeadlineMs } = deps
    this.gate = new TmuxGate({
      asks: checkedAsks(open.asks, askDeadlineMs),
      called: request => record.called(request),
      denied: () => record.denied(),
      allowed: callId => this.window?.allow(callId),
      gaveUp: request => this.#gaveUp(request),
      takenOver: () => this.takenOver,
    })
  }

  /** Lets the agent call tools of ours, for as long as the session lasts. */
  async give({ own, place }: WindowTools): Promise<void> {
    const { open, record, askDeadlineMs, closed } = this.#deps
    own.bind({
      asks: withTerminal(checkedAsks(open.asks, askDeadlineMs), () => this.takenOver),
      cwd: open.cwd,
      turn: () => (this.turn.running ? closed : AbortSignal.abort()),
      // Its hook has told of it, and the agent's own record will.
      arrived: () => undefined,
      asked: () => undefined,
      questioned: () => undefined,
      denied: () => record.denied(),
      parked: call => this.#gaveUp({ ...call, input: {}, cwd: open.cwd, own: true }),
    })
    this.#own = own
    this.gate.give(own)
    record.give(own)
    const door = await openToolServer(place, own)
    closed.addEventListener('abort', () => void door[Symbol.asyncDispose](), { once: true })
  }

  /** The agent knows of what it was given. */
  get hasTools(): boolean {
    return this.#own?.isKnown ?? true
  }

  get takenOver(): boolean {
    return this.window?.at.takenOver ?? false
  }

  /** A person has the keyboard: whatever is pressed now is pressed in their place. */
  get isTheirs(): boolean {
    return this.takenOver || this.gate.asksPerson
  }

  #gaveUp(request: Request): void {
    this.#deps.record.gaveUp(request)
    this.turn.stopAfterTools('park')
  }

  async say(text: string, window: AgentWindow): Promise<void> {
    window.note({ owed: true })
    this.#deps.record.prompted(text)
    this.#mouth.add(text)
    await this.#speak(window)
  }

  async cutIn(): Promise<void> {
    this.#deps.record.interrupting()
    this.turn.interrupting()
    await this.window?.escape().catch(() => undefined) // a window that is gone is seen elsewhere
  }

  /** The window outlived its daemon: its turn goes on, or is over by now. Only where nothing was begun is the prompt said. */
  async adopt(window: AgentWindow, refused: number): Promise<void> {
    const [{ at }, { record, open }] = [window, this.#deps]
    record.readFrom(at)
    this.gate.know(at.allowed)
    this.start(window, { session_id: at.vendorId, model: at.model })
    if (!at.working && window.state()?.status === 'idle') return this.say(open.prompt ?? RESUME_PROMPT, window)
    this.turn.begun()
    this.turn.adopted(refused > 0 ? describeAbsence(refused) : undefined)
    record.begun()
  }

  /** A person gives the terminal back: what waited is said now, and the end of that is what counts. */
  async handedBack(window: AgentWindow): Promise<void> {
    window.note({ takenOver: false })
    const held = this.turn.takeHeld()
    if (this.#mouth.isFull) await this.#speak(window)
    else if (held?.how === 'by-person') await this.say(HANDED_BACK_PROMPT, window)
    else if (held) this.#end(held, window)
  }

  start(window: AgentWindow, { session_id, model }: Record<string, unknown>): void {
    this.isStarted = true
    window.note({
      ...(typeof session_id === 'string' && { vendorId: session_id }),
      ...(typeof model === 'string' && { model }),
    })
    this.#deps.record.started({ vendorId: session_id, model, version: window.state()?.version })
  }

  /** Reads what the agent has written down since. */
  read(window: AgentWindow): void {
    const { record, fail } = this.#deps
    const isNew = record.read(message => {
      const call = this.gate.unjudged(message, () => record.pastCalls())
      if (call !== undefined) fail(unjudgedFailure(call))
      return call === undefined
    })
    if (isNew) window.note(record.position)
  }

  /** Says what waits, and follows the turn by the agent's own word for what it does. */
  async look(window: AgentWindow, state: AgentState | undefined): Promise<void> {
    await this.#speak(window)
    const isHeld = !this.#mouth.mayType(window)
    const step = this.turn.look(state?.status, { ...this.#deps.record.written, isHeld })
    if (step === 'begun') return this.#begun(window)
    if (step === 'enter') await this.#mouth.enter(window)
    else if (step === 'lost') throw new AppError('tmux_failed', { problem: 'the prompt did not reach Claude Code' })
    else if (typeof step === 'object') this.#ended(step, window)
  }

  async hook({ event, input, signal }: HookCall, window: AgentWindow): Promise<HookReply> {
    const { record, closed } = this.#deps
    const given = (input ?? {}) as Record<string, unknown>
    record.follow(given)
    switch (event) {
      case 'PreToolUse':
        this.read(window)
        return this.gate.before(given, AbortSignal.any([signal, closed]))
      case 'PermissionRequest':
        return this.gate.asked(given)
      case 'ConfigChange':
        return { decision: 'block', reason: 'What was looked at before the start stays in force.' }
      case 'StatusLine':
        record.status(given)
        this.turn.statusTold()
        return { text: this.takenOver ? 'yours until pcc handback' : 'every call is judged' }
      case 'PostToolBatch':
        return this.#afterTools(window)
      default:
        this.#heard(event, given, window)
        return undefined
    }
  }

  #heard(event: string, given: Record<string, unknown>, window: AgentWindow): void {
    if (event === 'SessionStart') this.start(window, given)
    if (event === 'UserPromptSubmit') this.#begun(window)
    if (event === 'PreCompact') this.#deps.record.compacting('started')
    if (event === 'PostCompact') this.#deps.record.compacting('ended')
    if (event === 'Stop') this.turn.told({ how: 'completed', text: String(given['last_assistant_message'] ?? '') })
    if (event === 'StopFailure') this.turn.told({ how: 'failed', text: '' })
  }

  /** The agent has a prompt. */
  #begun(window: AgentWindow): void {
    const before = this.turn.begun()
    // Under the hands of a person only the end of their last turn counts.
    if (before && !this.takenOver) this.#end(before, window)
    window.note({ working: true, owed: false })
    this.#deps.record.begun()
  }

  /** Between two rounds with the model: here a turn stops that was asked to. */
  #afterTools(window: AgentWindow): HookReply {
    this.read(window)
    const { record, open } = this.#deps
    if (open.maxTurns !== undefined && record.rounds >= open.maxTurns) this.turn.stopAfterTools('cap')
    const why = this.turn.stopping
    return why === undefined ? { continue: true } : { continue: false, stopReason: STOP_REASONS[why] }
  }

  /** A turn is over: told to the supervisor, or, while a person has the terminal, kept until they hand it back. */
  #ended(ends: TmuxTurnEnd, window: AgentWindow): void {
    this.gate.settled()
    if (ends.how === 'by-person') window.note({ takenOver: true })
    if (this.takenOver) this.turn.hold(ends)
    else this.#end(ends, window)
  }

  #end(ends: TmuxTurnEnd, window: AgentWindow): void {
    this.read(window)
    const next = this.turn.takeAfterwards()
    // A window that is gone is seen elsewhere.
    if (next !== undefined) return void this.say(next, window).catch(() => undefined)
    const { record, leave } = this.#deps
    window.note({ working: false, allowed: [] })
    record.ended(ends)
    if (record.conversation.parked) leave()
  }

  #speak(window: AgentWindow): Promise<void> {
    return this.#mouth.speak(window, () => this.turn.asked())
  }
}
