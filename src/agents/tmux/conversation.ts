import { AppError } from '../../base/errors.ts'
import type { Failure, OpenSession, Request } from '../../domain/session.ts'
import { checkedAsks } from '../checked-asks.ts'
import type { OwnTools } from '../own-tools.ts'
import type { HookCall, HookReply } from '../own-tools-server.ts'
import { type AgentState, type AgentWindow, PromptTyper } from './agent-window.ts'
import { TmuxGate } from './gate.ts'
import { withTerminal } from './launch.ts'
import type { TmuxRecord } from './record.ts'
import type { TmuxTurnEnd } from './transcript.ts'
import { describeAbsence, HANDED_BACK_PROMPT, RESUME_PROMPT, STOP_REASONS, TmuxTurn, unjudgedFailure } from './turn.ts'

interface TmuxConversationDeps {
  open: OpenSession
  record: TmuxRecord
  askDeadlineMs: number
  /** Aborts when the session is over. */
  closed: AbortSignal
  fail(failure: Failure): void
  /** Ends the session because a call waits for a person. */
  leave(): void
}

/** The conversation in one window, turn by turn: prompts go in through the keyboard, everything else comes from hooks and from the agent's files. */
export class TmuxConversation {
  readonly turn = new TmuxTurn()
  readonly gate: TmuxGate
  /** Undefined until the window is open. */
  window: AgentWindow | undefined
  /** The agent has reported its start. */
  isStarted = false
  readonly #deps: TmuxConversationDeps
  #own: OwnTools | undefined
  /** A pause was asked for: it outlasts the turns of a person who has the terminal, and is over with the turn that it ends. */
  #pausing = false
  readonly #typer = new PromptTyper(() => this.isPersonInControl)

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

  /** Answers calls of our tools for as long as the session lasts. */
  bindTools(own: OwnTools): void {
    const { open, record, askDeadlineMs, closed } = this.#deps
    own.bind({
      asks: withTerminal(checkedAsks(open.asks, askDeadlineMs), () => this.takenOver),
      cwd: open.cwd,
      turn: () => (this.turn.running ? closed : AbortSignal.abort()),
      // The hook has reported the call already, and the agent's own record will.
      arrived: () => undefined,
      asked: () => undefined,
      questioned: () => undefined,
      denied: () => record.denied(),
      parked: call => this.#gaveUp({ ...call, input: {}, cwd: open.cwd, own: true }),
    })
    this.#own = own
    this.gate.setTools(own)
    record.setTools(own)
  }

  /** The agent has the list of our tools. */
  get hasTools(): boolean {
    return this.#own?.isListed ?? true
  }

  get takenOver(): boolean {
    return this.window?.saved.takenOver ?? false
  }

  /** A person has the keyboard: a key press of ours would act in their place. */
  get isPersonInControl(): boolean {
    return this.takenOver || this.gate.asksPerson
  }

  #gaveUp(request: Request): void {
    this.#deps.record.gaveUp(request)
    this.turn.stopAfterTools('park')
  }

  async send(text: string, window: AgentWindow): Promise<void> {
    window.update({ owed: true })
    this.#deps.record.prompted(text)
    this.#typer.add(text)
    await this.#typeNext(window)
  }

  /** Pauses after the tools in flight; where a person has the terminal, once they hand it back, because their turn is theirs. */
  pause(): void {
    this.#pausing = true
    if (this.takenOver) return
    this.#deps.record.pausing()
    this.turn.stopAfterTools('pause')
  }

  async interrupt(): Promise<void> {
    this.#deps.record.interrupting()
    this.turn.interrupting()
    await this.window?.escape().catch(() => undefined) // that the window is gone is noticed elsewhere
  }

  /** Adopts a window that outlived its daemon: its turn goes on, or is over by now. The prompt is typed only if no turn was begun. */
  async adopt(window: AgentWindow, refused: number): Promise<void> {
    const [{ saved }, { record, open }] = [window, this.#deps]
    record.readFrom(saved)
    this.gate.restoreAllowed(saved.allowed)
    this.start(window, { session_id: saved.vendorId, model: saved.model })
    if (!saved.working && window.state()?.status === 'idle') return this.send(open.prompt ?? RESUME_PROMPT, window)
    this.turn.begun()
    this.turn.adopted(refused > 0 ? describeAbsence(refused) : undefined)
    record.begun()
  }

  /** A person hands the terminal back: waiting prompts are typed now, and the end of that turn counts. */
  async handedBack(window: AgentWindow): Promise<void> {
    window.update({ takenOver: false })
    const held = this.turn.takeHeld()
    // A turn that is over stops nothing more: only one that still runs is asked to.
    if (this.#pausing && held) this.#deps.record.pausing()
    else if (this.#pausing) this.pause()
    if (this.#pausing && held) this.#end(held, window)
    else if (this.#typer.hasWaiting) await this.#typeNext(window)
    else if (held?.how === 'by-person') await this.send(HANDED_BACK_PROMPT, window)
    else if (held) this.#end(held, window)
  }

  start(window: AgentWindow, { session_id, model }: Record<string, unknown>): void {
    this.isStarted = true
    window.update({
      ...(typeof session_id === 'string' && { vendorId: session_id }),
      ...(typeof model === 'string' && { model }),
    })
    this.#deps.record.started({ vendorId: session_id, model, version: window.state()?.version })
  }

  /** Reads what the agent has added to its record. */
  read(window: AgentWindow): void {
    const { record, fail } = this.#deps
    const isNew = record.read(message => {
      const call = this.gate.unjudged(message, () => record.pastCalls())
      if (call !== undefined) fail(unjudgedFailure(call))
      return call === undefined
    })
    if (isNew) window.update(record.position)
  }

  /** Types waiting prompts and follows the turn by the agent's own state. */
  async poll(window: AgentWindow, state: AgentState | undefined): Promise<void> {
    await this.#typeNext(window)
    const isBlocked = !this.#typer.canType(window)
    const step = this.turn.poll(state?.status, { ...this.#deps.record.written, isHeld: isBlocked })
    if (step === 'begun') return this.#begun(window)
    if (step === 'enter') await this.#typer.enter(window)
    else if (step === 'lost') throw new AppError('tmux_failed', { problem: 'the prompt did not reach Claude Code' })
    else if (typeof step === 'object') this.#ended(step, window)
  }

  async hook({ event, input, signal }: HookCall, window: AgentWindow): Promise<HookReply> {
    const { record, closed } = this.#deps
    const fields = (input ?? {}) as Record<string, unknown>
    record.follow(fields)
    switch (event) {
      case 'PreToolUse':
        this.read(window)
        return this.gate.before(fields, AbortSignal.any([signal, closed]))
      case 'PermissionRequest':
        return this.gate.asked(fields)
      case 'ConfigChange':
        return { decision: 'block', reason: 'The settings that were checked before the start stay in force.' }
      case 'StatusLine':
        record.status(fields)
        this.turn.statusUpdated()
        return { text: this.takenOver ? 'yours until pcc handback' : 'every call is judged' }
      case 'PostToolBatch':
        return this.#afterTools(window)
      default:
        this.#readEvent(event, fields, window)
        return undefined
    }
  }

  #readEvent(event: string, fields: Record<string, unknown>, window: AgentWindow): void {
    if (event === 'SessionStart') this.start(window, fields)
    if (event === 'UserPromptSubmit') this.#begun(window)
    if (event === 'PreCompact') this.#deps.record.compacting('started')
    if (event === 'PostCompact') this.#deps.record.compacting('ended')
    if (event === 'Stop')
      this.turn.reportEnd({ how: 'completed', text: String(fields['last_assistant_message'] ?? '') })
    if (event === 'StopFailure') this.turn.reportEnd({ how: 'failed', text: '' })
  }

  /** The agent has a prompt. */
  #begun(window: AgentWindow): void {
    const before = this.turn.begun()
    // While a person has the terminal only the end of their last turn counts.
    if (before && !this.takenOver) this.#end(before, window)
    window.update({ working: true, owed: false })
    this.#deps.record.begun()
  }

  /** Between two rounds with the model: a turn that was asked to stop stops here. */
  #afterTools(window: AgentWindow): HookReply {
    this.read(window)
    const { record, open } = this.#deps
    if (open.maxTurns !== undefined && record.rounds >= open.maxTurns) this.turn.stopAfterTools('cap')
    const why = this.turn.stopping
    return why === undefined ? { continue: true } : { continue: false, stopReason: STOP_REASONS[why] }
  }

  /** A turn is over: reported to the supervisor or, while a person has the terminal, kept until they hand it back. */
  #ended(turnEnd: TmuxTurnEnd, window: AgentWindow): void {
    this.gate.settled()
    if (turnEnd.how === 'by-person') window.update({ takenOver: true })
    if (this.takenOver) this.turn.hold(turnEnd)
    else this.#end(turnEnd, window)
  }

  #end(turnEnd: TmuxTurnEnd, window: AgentWindow): void {
    this.read(window)
    const next = this.turn.takeAfterwards()
    // That the window is gone is noticed elsewhere.
    if (next !== undefined) return void this.send(next, window).catch(() => undefined)
    const { record, leave } = this.#deps
    window.update({ working: false, allowed: [] })
    const isPaused = this.#pausing && (turnEnd.how === 'completed' || turnEnd.how === 'by-person')
    this.#pausing = false
    record.ended(isPaused ? { ...turnEnd, how: 'paused' } : turnEnd)
    if (record.conversation.parked) leave()
  }

  #typeNext(window: AgentWindow): Promise<void> {
    return this.#typer.typeNext(window, () => this.turn.asked())
  }
}
