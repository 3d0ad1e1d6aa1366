import { setTimeout as sleep } from 'node:timers/promises'
import { AppError } from '../../base/errors.ts'
import type { Failure, OpenSession, Session } from '../../domain/session.ts'
import { type AgentWindow, hasOpenQuestion } from './agent-window.ts'
import { TmuxConversation } from './conversation.ts'
import type { WindowTools } from './launch.ts'
import { TmuxRecord } from './record.ts'
import type { HookRegistry, TmuxSessionFolder } from './session-folder.ts'
import { notReadyError, toFailure, windowGoneFailure } from './turn.ts'

/** How often the agent's own files are looked at; its hooks tell most of it sooner. */
const LOOK_MS = 400
/** Ready within 2.5 s on an idle machine. */
const READY_MS = 90_000
/** Its first hook comes within 2 s on an idle machine. */
const START_MS = 15_000
/** Its servers are connected meanwhile: ours within a second on an idle machine. Then it begins without. */
const TOOLS_MS = 45_000
/** An interrupt takes some 100 ms. */
const ESCAPE_MS = 3_000

export interface TmuxProcess {
  /** Opens a window, or finds the one that outlived its daemon. */
  window(): Promise<{ window: AgentWindow; adopted: boolean; token: string; tools?: WindowTools | undefined }>
  folder: TmuxSessionFolder
  desk: HookRegistry
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
  readonly #seat: TmuxProcess
  readonly #record: TmuxRecord
  readonly #talk: TmuxConversation
  readonly #over: Promise<void>
  readonly #closed = new AbortController()
  #ready = false
  #closing: Promise<void> | undefined
  #failure: Failure | undefined
  #withstood = false

  constructor(open: OpenSession, seat: TmuxProcess) {
    this.id = open.id
    this.#open = open
    this.#seat = seat
    this.#record = new TmuxRecord(open)
    this.#talk = new TmuxConversation({
      ...{ open, record: this.#record, askDeadlineMs: seat.askDeadlineMs, closed: this.#closed.signal },
      fail: failure => this.#fail(failure),
      leave: () => void this[Symbol.asyncDispose](),
    })
    this.#over = this.#run()
  }

  get events() {
    return this.#record.events
  }

  get vendorId(): string | undefined {
    return this.#record.conversation.vendorId
  }

  get pid(): number | undefined {
    return this.#talk.window?.pid
  }

  get withstood(): boolean {
    return this.#talk.window?.withstood ?? this.#withstood
  }

  get takenOver(): boolean {
    return this.#talk.takenOver
  }

  async prompt(text: string): Promise<void> {
    const { window } = this.#talk
    if (this.#closing || !window) throw new AppError('session_over', { id: this.id, status: 'closed' })
    // Said in words it would be a task like any other, and what is too long would grow.
    if (text.trim() === '/compact') throw new AppError('terminal_command', { id: this.id, command: '/compact' })
    await this.#talk.say(text, window)
  }

  async pause(): Promise<void> {
    const { turn } = this.#talk
    // Before its first prompt nothing runs yet, and the turn of that one is meant.
    if ((!turn.running && this.#ready) || this.#closing) return
    this.#record.pausing()
    turn.stopAfterTools('pause')
  }

  async interrupt(): Promise<void> {
    if (!this.#talk.turn.running || this.#closing) return
    if (this.#talk.isTheirs) throw new AppError('terminal_taken', { id: this.id })
    await this.#talk.cutIn()
  }

  async withhold(): Promise<void> {
    if (this.#record.conversation.at === 'work') return this.pause()
    await this[Symbol.asyncDispose]()
  }

  async takeover(): Promise<void> {
    this.#talk.window?.note({ takenOver: true })
  }

  async handback(): Promise<void> {
    const { window, gate } = this.#talk
    if (!window || !this.takenOver) return
    // Nobody would answer it any more.
    const { dialogMs } = this.#seat
    const asks = await hasOpenQuestion(window, { asksPerson: () => gate.asksPerson, dialogMs })
    if (asks) throw new AppError('terminal_asks', { id: this.id })
    await this.#talk.handedBack(window)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close()
    await this.#closing
  }

  async #run(): Promise<void> {
    try {
      this.#record.begin()
      if (this.#mayBegin()) await this.#follow(await this.#begin())
    } catch (error) {
      if (error instanceof AppError && error.code === 'agent_not_logged_in') this.#record.withoutLogin(error.message)
      this.#withstood = error instanceof AppError && error.code === 'session_withstood'
      this.#fail(toFailure(error))
    }
    const by = this.#closing ? 'owner' : 'agent'
    this.#talk.gate.close()
    this.#closed.abort()
    await this.#talk.window?.close().catch(() => undefined) // nothing more can be done, and the session must end
    this.#record.close({ by, failure: this.#failure })
  }

  async #begin(): Promise<AgentWindow> {
    const { window, adopted, token, tools } = await this.#seat.window()
    this.#talk.window = window
    if (tools) await this.#talk.give(tools)
    const hooks = this.#seat.desk.open(this.id, { token, take: call => this.#talk.hook(call, window) })
    this.#closed.signal.addEventListener('abort', () => hooks[Symbol.dispose](), { once: true })
    this.#ready = adopted
    if (adopted) await this.#talk.adopt(window, this.#seat.folder.takeRefused())
    return window
  }

  async #follow(window: AgentWindow): Promise<void> {
    const from = performance.now()
    while (!this.#closed.signal.aborted && !this.#failure) {
      const isAlive = window.alive
      this.#talk.read(window)
      if (!isAlive) this.#fail(windowGoneFailure(this.#seat.folder.lastWords()))
      if (this.#failure) return
      if (this.#ready) await this.#talk.look(window, window.state())
      else await this.#awaitReady(window, performance.now() - from)
      await sleep(LOOK_MS, undefined, { signal: this.#closed.signal }).catch(() => undefined)
    }
  }

  async #awaitReady(window: AgentWindow, sinceMs: number): Promise<void> {
    const state = window.state()
    // The hook of its start can be lost as well.
    if (!this.#talk.isStarted && state && sinceMs > START_MS) this.#talk.start(window, { session_id: state.sessionId })
    const hasTools = this.#talk.hasTools || sinceMs > TOOLS_MS
    if (this.#talk.isStarted && state?.status === 'idle' && hasTools) {
      this.#ready = true
      const { prompt } = this.#open
      if (prompt !== undefined && this.#mayBegin()) await this.#talk.say(prompt, window)
    } else if (sinceMs > READY_MS) throw notReadyError(READY_MS, state?.waitingFor)
  }

  async #close(): Promise<void> {
    const { turn, gate, window } = this.#talk
    gate.close()
    // The window of a person is closed, as was asked; no key is pressed in it before.
    if (turn.running && window?.alive && !this.#talk.isTheirs) {
      await this.#talk.cutIn()
      for (let waited = 0; turn.running && waited < ESCAPE_MS; waited += LOOK_MS) await sleep(LOOK_MS)
    }
    this.#closed.abort()
    await this.#over
  }

  #fail(failure: Failure): void {
    this.#failure ??= failure
  }

  #mayBegin(): boolean {
    return !this.#closing && (this.#open.mayBegin?.() ?? true)
  }
}
