import { setTimeout as sleep } from 'node:timers/promises'
import { AppError } from '../../base/errors.ts'
import type { Failure, OpenSession, Session } from '../../domain/session.ts'
import { openSessionServer } from '../own-tools-server.ts'
import { type AgentWindow, hasOpenQuestion } from './agent-window.ts'
import { TmuxConversation } from './conversation.ts'
import type { WindowTools } from './launch.ts'
import { TmuxRecord } from './record.ts'
import type { HookAddress, TmuxSessionFolder } from './session-folder.ts'
import { notReadyError, toFailure, windowGoneFailure } from './turn.ts'

/** How often the agent's own files are read; its hooks report most things sooner. */
const POLL_MS = 400
/** The agent is ready within 2.5 s on an idle machine. */
const READY_MS = 90_000
/** The agent's first hook comes within 2 s on an idle machine. */
const START_MS = 15_000
/** The agent's servers connect meanwhile: ours within a second on an idle machine. After this time the agent begins without. */
const TOOLS_MS = 45_000
/** An interrupt takes some 100 ms. */
const ESCAPE_MS = 3_000

export interface TmuxProcess {
  /** Opens a window, or adopts the one that outlived its daemon. */
  window(): Promise<{ window: AgentWindow; adopted: boolean; address: HookAddress; tools?: WindowTools | undefined }>
  folder: TmuxSessionFolder
  askDeadlineMs: number
  /** How long a dialog may be open until our hook has answered it. */
  dialogMs: number
}

/**
 * One conversation with the interactive Claude Code in a tmux window. Its hooks, its state file and its own record of the
 * conversation show what it does; the screen is never read.
 */
export class TmuxSession implements Session {
  readonly id: string
  readonly #open: OpenSession
  readonly #process: TmuxProcess
  readonly #record: TmuxRecord
  readonly #conversation: TmuxConversation
  readonly #over: Promise<void>
  readonly #closed = new AbortController()
  #ready = false
  #closing: Promise<void> | undefined
  #failure: Failure | undefined
  #hasSurvivors = false

  constructor(open: OpenSession, process: TmuxProcess) {
    this.id = open.id
    this.#open = open
    this.#process = process
    this.#record = new TmuxRecord(open)
    this.#conversation = new TmuxConversation({
      ...{ open, record: this.#record, askDeadlineMs: process.askDeadlineMs, closed: this.#closed.signal },
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
    return this.#conversation.window?.pid
  }

  get hasSurvivors(): boolean {
    return this.#conversation.window?.hasSurvivors ?? this.#hasSurvivors
  }

  get walled(): boolean {
    return this.#conversation.window?.walled === true
  }

  get takenOver(): boolean {
    return this.#conversation.takenOver
  }

  async prompt(text: string): Promise<void> {
    const { window } = this.#conversation
    if (this.#closing || !window)
      throw new AppError('session_over', { id: this.id, status: 'closed', next: `See it with: pcc status ${this.id}` })
    // Typed as a prompt it would be a task like any other, and the conversation that is too long would grow.
    if (text.trim() === '/compact') throw new AppError('terminal_command', { id: this.id, command: '/compact' })
    await this.#conversation.send(text, window)
  }

  async pause(): Promise<void> {
    const { turn, takenOver } = this.#conversation
    // Before the first prompt nothing runs yet, and its turn is meant. What ends under the hands of a person has not ended for pcc.
    if ((!turn.running && this.#ready && !takenOver) || this.#closing) return
    this.#conversation.pause()
  }

  async interrupt(): Promise<void> {
    if (!this.#conversation.turn.running || this.#closing) return
    if (this.#conversation.isPersonInControl) throw new AppError('terminal_taken', { id: this.id })
    await this.#conversation.interrupt()
  }

  async withhold(): Promise<void> {
    if (this.#record.conversation.progress === 'work') return this.pause()
    await this[Symbol.asyncDispose]()
  }

  async takeover(): Promise<void> {
    this.#conversation.window?.update({ takenOver: true })
  }

  async handback(): Promise<void> {
    const { window, gate } = this.#conversation
    if (!window || !this.takenOver) return
    // After the handback nobody would answer an open dialog.
    const { dialogMs } = this.#process
    const isAsking = await hasOpenQuestion(window, { asksPerson: () => gate.asksPerson, dialogMs })
    if (isAsking) throw new AppError('terminal_asks', { id: this.id })
    await this.#conversation.handedBack(window)
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
      this.#hasSurvivors = error instanceof AppError && error.code === 'session_withstood'
      this.#fail(toFailure(error))
    }
    const by = this.#closing ? 'owner' : 'agent'
    this.#conversation.gate.close()
    this.#closed.abort()
    await this.#conversation.window?.close().catch(() => undefined) // nothing more can be done, and the session must end
    this.#record.close({ by, failure: this.#failure })
  }

  async #begin(): Promise<AgentWindow> {
    const { window, adopted, address, tools } = await this.#process.window()
    this.#conversation.window = window
    if (tools) this.#conversation.bindTools(tools.own)
    const server = await openSessionServer(address, {
      ...{ tools: tools?.own, marker: window.saved.marker },
      hook: call => this.#conversation.hook(call, window),
    })
    this.#closed.signal.addEventListener('abort', () => void server[Symbol.asyncDispose](), { once: true })
    this.#ready = adopted
    if (adopted) await this.#conversation.adopt(window, this.#process.folder.takeRefused())
    return window
  }

  async #follow(window: AgentWindow): Promise<void> {
    const from = performance.now()
    while (!this.#closed.signal.aborted && !this.#failure) {
      const isAlive = window.alive
      this.#conversation.read(window)
      if (!isAlive) this.#fail(windowGoneFailure(this.#process.folder.readStderr()))
      if (this.#failure) return
      if (this.#ready) await this.#conversation.poll(window, window.state())
      else await this.#awaitReady(window, performance.now() - from)
      await sleep(POLL_MS, undefined, { signal: this.#closed.signal }).catch(() => undefined)
    }
  }

  async #awaitReady(window: AgentWindow, sinceMs: number): Promise<void> {
    const state = window.state()
    // The hook that reports the start can be lost.
    if (!this.#conversation.isStarted && state && sinceMs > START_MS)
      this.#conversation.start(window, { session_id: state.sessionId })
    const hasTools = this.#conversation.hasTools || sinceMs > TOOLS_MS
    if (this.#conversation.isStarted && state?.status === 'idle' && hasTools) {
      this.#ready = true
      const { prompt } = this.#open
      if (prompt !== undefined && this.#mayBegin()) await this.#conversation.send(prompt, window)
    } else if (sinceMs > READY_MS) throw notReadyError(READY_MS, state?.waitingFor)
  }

  async #close(): Promise<void> {
    const { turn, gate, window } = this.#conversation
    gate.close()
    // A window that a person has is closed as requested, but no key is pressed in it before.
    if (turn.running && window?.alive && !this.#conversation.isPersonInControl) {
      await this.#conversation.interrupt()
      for (let waited = 0; turn.running && waited < ESCAPE_MS; waited += POLL_MS) await sleep(POLL_MS)
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
