import { setTimeout as sleep } from 'node:timers/promises'
import { AppError } from '../../base/errors.ts'
import type { Failure, OpenSession, Session } from '../../domain/session.ts'
import { checkedAsks } from '../checked-asks.ts'
import type { HookCall, HookDesk, HookReply } from './hooks/desk.ts'
import { TmuxGate } from './hooks/gate.ts'
import { Mouth } from './mouth.ts'
import type { Ends } from './reading/result-of.ts'
import { TerminalRecord } from './record.ts'
import type { SeatFolder } from './seat.ts'
import { Turn } from './turn.ts'
import type { AgentWindow } from './window/agent-window.ts'
import { awayFor, failureOf, GO_ON, HANDED_BACK, leftItsWindow, notReady, STOPPED, unjudged } from './words.ts'

/** How often the agent's own files are looked at; its hooks tell most of it sooner. */
const LOOK_MS = 400
/** Ready within 2.5 s on an idle machine. */
const READY_MS = 90_000
/** Its first hook comes within 2 s on an idle machine. */
const START_MS = 15_000
/** An interrupt takes some 100 ms. */
const ESCAPE_MS = 3_000
/** Allowed calls whose results are still to come. */
const MOST_ALLOWED = 200

export interface TmuxSeat {
  /** Opens a window, or finds the one that outlived its daemon. */
  window(): Promise<{ window: AgentWindow; adopted: boolean; token: string }>
  folder: SeatFolder
  desk: HookDesk
  askDeadlineMs: number
  /** How long a dialog may stand until our hook has answered it. */
  dialogMs: number
}

/**
 * One conversation with the interactive Claude Code in a window of tmux. What it does is known by its hooks, its state file and
 * its own record of the conversation, never by what stands on the screen.
 */
export class TmuxSession implements Session {
  readonly id: string
  readonly #open: OpenSession
  readonly #seat: TmuxSeat
  readonly #record: TerminalRecord
  readonly #turn = new Turn()
  readonly #gate: TmuxGate
  readonly #mouth = new Mouth(() => this.#isTheirs)
  readonly #over: Promise<void>
  readonly #closed = new AbortController()
  #window: AgentWindow | undefined
  #started = false
  #ready = false
  #closing: Promise<void> | undefined
  #failure: Failure | undefined
  #withstood = false

  constructor(open: OpenSession, seat: TmuxSeat) {
    this.id = open.id
    this.#open = open
    this.#seat = seat
    this.#record = new TerminalRecord(open)
    this.#gate = this.#makeGate()
    this.#over = this.#run()
  }

  get events() {
    return this.#record.events
  }

  get vendorId(): string | undefined {
    return this.#record.conversation.vendorId
  }

  get pid(): number | undefined {
    return this.#window?.pid
  }

  get withstood(): boolean {
    return this.#window?.withstood ?? this.#withstood
  }

  get takenOver(): boolean {
    return this.#window?.at.takenOver ?? false
  }

  async prompt(text: string): Promise<void> {
    if (this.#closing || !this.#window) throw new AppError('session_over', { id: this.id, status: 'closed' })
    // Said in words it would be a task like any other, and what is too long would grow.
    if (text.trim() === '/compact') throw new AppError('terminal_command', { id: this.id, command: '/compact' })
    await this.#say(text, this.#window)
  }

  async pause(): Promise<void> {
    // Before its first prompt nothing runs yet, and the turn of that one is meant.
    if ((!this.#turn.running && this.#ready) || this.#closing) return
    this.#record.pausing()
    this.#turn.stopAfterTools('pause')
  }

  async interrupt(): Promise<void> {
    if (!this.#turn.running || this.#closing) return
    if (this.#isTheirs) throw new AppError('terminal_taken', { id: this.id })
    await this.#cutIn()
  }

  async withhold(): Promise<void> {
    if (this.#record.conversation.at === 'work') return this.pause()
    await this[Symbol.asyncDispose]()
  }

  async takeover(): Promise<void> {
    this.#window?.note({ takenOver: true })
  }

  async handback(): Promise<void> {
    const window = this.#window
    if (!window || !this.takenOver) return
    // Nobody would answer it any more.
    if (await this.#showsQuestion(window)) throw new AppError('terminal_asks', { id: this.id })
    window.note({ takenOver: false })
    const held = this.#turn.takeHeld()
    // What waited is said now, and the end of that is what counts.
    if (this.#mouth.isFull) await this.#speak(window)
    else if (held?.how === 'by-person') await this.#say(HANDED_BACK, window)
    else if (held) this.#end(held, window)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close()
    await this.#closing
  }

  /** Before a call the agent shows its own dialog for a moment, until our hook has answered it: only one that stays asks a person. */
  async #showsQuestion(window: AgentWindow): Promise<boolean> {
    const until = performance.now() + this.#seat.dialogMs
    while (!this.#gate.asksPerson && window.state()?.status === 'waiting') {
      if (performance.now() > until) return true
      await sleep(LOOK_MS)
    }
    return this.#gate.asksPerson
  }

  /** A person has the keyboard: whatever is pressed now is pressed in their place. */
  get #isTheirs(): boolean {
    return this.takenOver || this.#gate.asksPerson
  }

  async #run(): Promise<void> {
    try {
      this.#record.begin()
      if (this.#mayBegin()) await this.#follow(await this.#begin())
    } catch (error) {
      if (error instanceof AppError && error.code === 'agent_not_logged_in') this.#record.withoutLogin(error.message)
      this.#withstood = error instanceof AppError && error.code === 'session_withstood'
      this.#failure ??= failureOf(error)
    }
    const by = this.#closing ? 'owner' : 'agent'
    this.#gate.close()
    this.#closed.abort()
    await this.#window?.close().catch(() => undefined) // nothing more can be done, and the session must end
    this.#record.close({ by, failure: this.#failure })
  }

  async #begin(): Promise<AgentWindow> {
    const { window, adopted, token } = await this.#seat.window()
    this.#window = window
    const hooks = this.#seat.desk.open(this.id, { token, take: call => this.#hook(call, window) })
    this.#closed.signal.addEventListener('abort', () => hooks[Symbol.dispose](), { once: true })
    if (adopted) await this.#adopt(window)
    return window
  }

  /** The window outlived its daemon: its turn goes on, or is over by now. Only where nothing was begun is the prompt said. */
  async #adopt(window: AgentWindow): Promise<void> {
    const { at } = window
    this.#record.readFrom(at)
    this.#gate.know(at.allowed)
    this.#start(window, { session_id: at.vendorId, model: at.model })
    this.#ready = true
    const refused = this.#seat.folder.takeRefused()
    if (at.working || window.state()?.status !== 'idle') {
      this.#turn.begun()
      this.#turn.adopted(refused > 0 ? awayFor(refused) : undefined)
      this.#record.begun()
    } else {
      await this.#say(this.#open.prompt ?? GO_ON, window)
    }
  }

  async #follow(window: AgentWindow): Promise<void> {
    const from = performance.now()
    while (!this.#closed.signal.aborted && !this.#failure) {
      const isAlive = window.alive
      this.#read(window)
      if (!isAlive) this.#failure ??= leftItsWindow(this.#seat.folder.lastWords())
      if (this.#failure) return
      await this.#look(window, performance.now() - from)
      await sleep(LOOK_MS, undefined, { signal: this.#closed.signal }).catch(() => undefined)
    }
  }

  async #look(window: AgentWindow, sinceMs: number): Promise<void> {
    const state = window.state()
    if (!this.#ready) {
      // The hook of its start can be lost as well.
      if (!this.#started && state && sinceMs > START_MS) this.#start(window, { session_id: state.sessionId })
      if (this.#started && state?.status === 'idle') return this.#becomeReady(window)
      if (sinceMs > READY_MS) throw notReady(READY_MS, state?.waitingFor)
      return
    }
    await this.#speak(window)
    const isHeld = !this.#mouth.mayType(window)
    const step = this.#turn.look(state?.status, { ...this.#record.written, isHeld })
    if (step === 'begun') return this.#begun(window)
    if (step === 'enter') await this.#mouth.enter(window)
    else if (step === 'lost') throw new AppError('tmux_failed', { problem: 'the prompt did not reach Claude Code' })
    else if (typeof step === 'object') this.#ended(step, window)
  }

  async #becomeReady(window: AgentWindow): Promise<void> {
    this.#ready = true
    const { prompt } = this.#open
    if (prompt !== undefined && this.#mayBegin()) await this.#say(prompt, window)
  }

  async #hook({ event, input, signal }: HookCall, window: AgentWindow): Promise<HookReply> {
    const given = (input ?? {}) as Record<string, unknown>
    this.#record.follow(given)
    switch (event) {
      case 'PreToolUse':
        this.#read(window)
        return this.#gate.before(given, AbortSignal.any([signal, this.#closed.signal]))
      case 'PermissionRequest':
        return this.#gate.asked(given)
      case 'ConfigChange':
        return { decision: 'block', reason: 'What was looked at before the start stays in force.' }
      case 'StatusLine':
        this.#record.status(given)
        this.#turn.statusTold()
        return { text: this.takenOver ? 'yours until pcc handback' : 'every call is judged' }
      case 'PostToolBatch':
        return this.#afterTools(window)
      default:
        this.#heard(event, given, window)
        return undefined
    }
  }

  #heard(event: string, given: Record<string, unknown>, window: AgentWindow): void {
    if (event === 'SessionStart') this.#start(window, given)
    if (event === 'UserPromptSubmit') this.#begun(window)
    if (event === 'PreCompact') this.#record.compacting('started')
    if (event === 'PostCompact') this.#record.compacting('ended')
    if (event === 'Stop') this.#turn.told({ how: 'completed', text: String(given['last_assistant_message'] ?? '') })
    if (event === 'StopFailure') this.#turn.told({ how: 'failed', text: '' })
  }

  /** The agent has a prompt. */
  #begun(window: AgentWindow): void {
    const before = this.#turn.begun()
    // Under the hands of a person only the end of their last turn counts.
    if (before && !this.takenOver) this.#end(before, window)
    window.note({ working: true, owed: false })
    this.#record.begun()
  }

  #start(window: AgentWindow, { session_id, model }: Record<string, unknown>): void {
    this.#started = true
    window.note({
      ...(typeof session_id === 'string' && { vendorId: session_id }),
      ...(typeof model === 'string' && { model }),
    })
    this.#record.started({ vendorId: session_id, model, version: window.state()?.version })
  }

  /** Between two rounds with the model: here a turn stops that was asked to. */
  #afterTools(window: AgentWindow): HookReply {
    this.#read(window)
    const { maxTurns } = this.#open
    if (maxTurns !== undefined && this.#record.rounds >= maxTurns) this.#turn.stopAfterTools('cap')
    const why = this.#turn.stopping
    return why === undefined ? { continue: true } : { continue: false, stopReason: STOPPED[why] }
  }

  #read(window: AgentWindow): void {
    const isNew = this.#record.read(message => {
      const call = this.#gate.unjudged(message, () => this.#record.pastCalls())
      if (call !== undefined) this.#failure ??= unjudged(call)
      return call === undefined
    })
    if (isNew) window.note(this.#record.position)
  }

  /** A turn is over: told to the supervisor, or, while a person has the terminal, kept until they hand it back. */
  #ended(ends: Ends, window: AgentWindow): void {
    this.#gate.settled()
    if (ends.how === 'by-person') window.note({ takenOver: true })
    if (this.takenOver) this.#turn.hold(ends)
    else this.#end(ends, window)
  }

  #end(ends: Ends, window: AgentWindow): void {
    this.#read(window)
    const next = this.#turn.takeAfterwards()
    if (next !== undefined) {
      this.#say(next, window).catch(() => undefined) // a window that is gone is seen elsewhere
      return
    }
    window.note({ working: false, allowed: [] })
    this.#record.ended(ends)
    if (this.#record.conversation.parked) void this[Symbol.asyncDispose]()
  }

  async #say(text: string, window: AgentWindow): Promise<void> {
    window.note({ owed: true })
    this.#record.prompted(text)
    this.#mouth.add(text)
    await this.#speak(window)
  }

  async #speak(window: AgentWindow): Promise<void> {
    await this.#mouth.speak(window, () => this.#turn.asked())
  }

  async #cutIn(): Promise<void> {
    this.#record.interrupting()
    this.#turn.interrupting()
    await this.#window?.escape().catch(() => undefined) // a window that is gone is seen elsewhere
  }

  async #close(): Promise<void> {
    this.#gate.close()
    // The window of a person is closed, as was asked; no key is pressed in it before.
    if (this.#turn.running && this.#window?.alive && !this.#isTheirs) {
      await this.#cutIn()
      for (let waited = 0; this.#turn.running && waited < ESCAPE_MS; waited += LOOK_MS) await sleep(LOOK_MS)
    }
    this.#closed.abort()
    await this.#over
  }

  #makeGate(): TmuxGate {
    return new TmuxGate({
      asks: checkedAsks(this.#open.asks, this.#seat.askDeadlineMs),
      called: request => this.#record.called(request),
      denied: () => this.#record.denied(),
      allowed: callId => this.#window?.note({ allowed: [...this.#window.at.allowed, callId].slice(-MOST_ALLOWED) }),
      gaveUp: request => {
        this.#record.gaveUp(request)
        this.#turn.stopAfterTools('park')
      },
      takenOver: () => this.takenOver,
    })
  }

  #mayBegin(): boolean {
    return !this.#closing && (this.#open.mayBegin?.() ?? true)
  }
}
