import { setTimeout as sleep } from 'node:timers/promises'
import { AppError, messageOf } from '../../base/errors.ts'
import type { Failure, OpenSession, Request, Session, SessionEvent } from '../../domain/session.ts'
import { checkedAsks } from '../checked-asks.ts'
import { Conversation } from '../claude/messages/conversation.ts'
import { EventQueue } from '../event-queue.ts'
import { openRecorder, type Recorder } from '../recorder.ts'
import type { HookCall, HookDesk, HookReply } from './hooks/desk.ts'
import { TmuxGate } from './hooks/gate.ts'
import { asMessage } from './reading/as-message.ts'
import { type Ends, resultOf } from './reading/result-of.ts'
import { TranscriptReader } from './reading/transcript.ts'
import type { SeatFolder } from './seat.ts'
import { Turn } from './turn.ts'
import type { AgentWindow } from './window/agent-window.ts'

/** How often the agent's own files are looked at; its hooks tell most of it sooner. */
const LOOK_MS = 400
/** Ready within 2.5 s on an idle machine. */
const READY_MS = 90_000
/** An interrupt takes some 100 ms. */
const ESCAPE_MS = 3_000

export interface TmuxSeat {
  /** Opens a window, or finds the one that outlived its daemon. */
  window(): Promise<{ window: AgentWindow; adopted: boolean; token: string }>
  folder: SeatFolder
  desk: HookDesk
  askDeadlineMs: number
}

/**
 * One conversation with the interactive Claude Code in a window of tmux. What it does is known by its hooks, its state file and
 * its own record of the conversation, never by what stands on the screen. The messages that its library would have sent are made
 * of these, so turns and their ends mean the same as with the library.
 */
export class TmuxSession implements Session {
  readonly id: string
  readonly events = new EventQueue()
  readonly #open: OpenSession
  readonly #seat: TmuxSeat
  readonly #conversation: Conversation
  readonly #turn = new Turn()
  readonly #over: Promise<void>
  readonly #closed = new AbortController()
  #recorder: Recorder | undefined
  #window: AgentWindow | undefined
  #gate: TmuxGate | undefined
  #reader = new TranscriptReader({ offset: 0 })
  #started = false
  #ready = false
  #closing: Promise<void> | undefined
  #failure: Failure | undefined
  #rounds = new Set<string>()
  #lastText = ''
  #begunAt = 0

  constructor(open: OpenSession, seat: TmuxSeat) {
    this.id = open.id
    this.#open = open
    this.#seat = seat
    const known = open.resume && !open.resume.fork ? open.resume.vendorId : undefined
    this.#conversation = new Conversation({ resumed: open.resume !== undefined, vendorId: known, tz: open.env['TZ'] })
    this.#over = this.#run()
  }

  get vendorId(): string | undefined {
    return this.#conversation.vendorId
  }

  get pid(): number | undefined {
    return this.#window?.pid
  }

  get withstood(): boolean {
    return this.#window?.withstood ?? false
  }

  get takenOver(): boolean {
    return this.#window?.at.takenOver ?? false
  }

  async prompt(text: string): Promise<void> {
    if (this.#closing || !this.#window) throw new AppError('session_over', { id: this.id, status: 'closed' })
    await this.#say(text)
  }

  async pause(): Promise<void> {
    if (!this.#turn.running || this.#closing) return
    this.#recorder?.note({ pcc: 'pause' })
    this.#conversation.pausing()
    this.#turn.stopAfterTools('pause')
  }

  async interrupt(): Promise<void> {
    if (!this.#turn.running || this.#closing) return
    await this.#cutIn()
  }

  async withhold(): Promise<void> {
    if (this.#conversation.at === 'work') return this.pause()
    await this[Symbol.asyncDispose]()
  }

  /** A person types from now on: nothing is typed and no question answered, until they hand it back. Calls are judged as before. */
  async takeover(): Promise<void> {
    this.#window?.note({ takenOver: true })
  }

  async handback(): Promise<void> {
    if (!this.#window || !this.takenOver) return
    this.#window.note({ takenOver: false })
    const held = this.#turn.takeHeld()
    if (held === 'interrupted') return this.#say(HANDED_BACK)
    if (held) this.#end(held)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close()
    await this.#closing
  }

  async #run(): Promise<void> {
    try {
      this.#recorder = openRecorder(this.#open.record)
      this.#recorder.note({ pcc: 'open', agent: 'claude', resumed: this.#open.resume !== undefined })
      if (!this.#mayBegin()) return await this.#finish()
      await this.#begin()
      await this.#follow()
    } catch (error) {
      this.#failure ??= failureOf(error)
    }
    await this.#finish()
  }

  async #begin(): Promise<void> {
    const { window, adopted, token } = await this.#seat.window()
    this.#window = window
    const { at } = window
    this.#reader = new TranscriptReader({ path: at.transcript, offset: at.offset })
    this.#gate = new TmuxGate(this.#keeper(), { allowed: at.allowed })
    const hooks = this.#seat.desk.open(this.id, { token, take: call => this.#hook(call) })
    this.#closed.signal.addEventListener('abort', () => hooks[Symbol.dispose](), { once: true })
    if (adopted) this.#adopt(window)
  }

  /** The window outlived its daemon: its turn goes on, or is over by now. Only where nothing was begun is the prompt said. */
  #adopt(window: AgentWindow): void {
    const { vendorId, model, working, owed } = window.at
    this.#start({ session_id: vendorId, model })
    this.#ready = true
    const refused = this.#seat.folder.takeRefused()
    if (!working && window.state()?.status === 'idle') {
      if (!this.takenOver) void this.#say(this.#open.prompt ?? GO_ON).catch(() => undefined)
      return
    }
    window.note({ owed: owed && window.state()?.status === 'idle' })
    this.#turn.begun()
    this.#conversation.prompted()
    // Its end may have been told while nobody listened.
    if (refused > 0) this.#turn.expectAfterwards(awayFor(refused))
    else this.#turn.mayHaveEnded()
  }

  async #follow(): Promise<void> {
    const window = this.#window
    if (!window) return
    const from = performance.now()
    while (!this.#closed.signal.aborted) {
      if (!window.alive) {
        this.#read()
        this.#failure ??= this.#causeOfDeath()
        return
      }
      this.#read()
      if (this.#failure) return
      await this.#look(window, performance.now() - from)
      await sleep(LOOK_MS, undefined, { signal: this.#closed.signal }).catch(() => undefined)
    }
  }

  async #look(window: AgentWindow, sinceMs: number): Promise<void> {
    const state = window.state()
    if (!this.#ready) {
      if (this.#started && state?.status === 'idle') return this.#becomeReady(state.version)
      if (sinceMs > READY_MS) throw notReady(state?.waitingFor)
      return
    }
    const step = this.#turn.look(state?.status, this.#lastText)
    if (step === 'enter') await window.enter()
    if (step === 'lost') throw new AppError('tmux_failed', { problem: 'the prompt did not reach Claude Code' })
    if (typeof step === 'object') this.#ended(step)
  }

  async #becomeReady(version: string | undefined): Promise<void> {
    this.#ready = true
    if (version !== undefined) this.#window?.note({ version })
    if (this.#open.prompt !== undefined && this.#mayBegin()) await this.#say(this.#open.prompt)
  }

  async #hook({ event, input, signal }: HookCall): Promise<HookReply> {
    const given = (input ?? {}) as Record<string, unknown>
    if (typeof given['transcript_path'] === 'string') {
      this.#reader.follow(given['transcript_path'], { skip: given['source'] === 'resume' })
    }
    switch (event) {
      case 'PreToolUse':
        this.#read()
        return this.#gate?.before(given, AbortSignal.any([signal, this.#closed.signal]))
      case 'PermissionRequest':
        return this.#gate?.asked(given)
      case 'ConfigChange':
        return { decision: 'block', reason: 'What was looked at before the start stays in force.' }
      case 'PostToolBatch':
        return this.#afterTools()
      default:
        this.#heard(event, given)
        return undefined
    }
  }

  #heard(event: string, given: Record<string, unknown>): void {
    if (event === 'SessionStart') this.#start(given)
    if (event === 'UserPromptSubmit') {
      const held = this.#turn.begun()
      if (held) this.#ended(held)
      this.#window?.note({ working: true, owed: false })
      this.#begunAt = performance.now()
      this.#conversation.prompted()
    }
    if (event === 'PreCompact') this.#feed({ type: 'system', subtype: 'status', status: 'compacting' })
    if (event === 'PostCompact') this.#feed({ type: 'system', subtype: 'status', compact_result: 'success' })
    if (event === 'Stop') this.#turn.told({ how: 'completed', text: String(given['last_assistant_message'] ?? '') })
    if (event === 'StopFailure')
      this.#turn.told({ how: 'failed', error: String(given['error'] ?? 'unknown'), text: '' })
  }

  #start(given: Record<string, unknown>): void {
    const { session_id, model } = given
    this.#started = true
    if (typeof session_id === 'string' && this.#window && session_id !== this.#window.at.vendorId) {
      this.#window.note({ vendorId: session_id })
    }
    if (typeof model === 'string') this.#window?.note({ model })
    this.#feed({
      ...{ type: 'system', subtype: 'init', session_id, model: model ?? '', cwd: this.#open.cwd, tools: [] },
      claude_code_version: this.#window?.state()?.version,
    })
  }

  /** Between two rounds with the model: here a turn stops that was asked to. */
  #afterTools(): HookReply {
    this.#read()
    const { maxTurns } = this.#open
    if (maxTurns !== undefined && this.#rounds.size >= maxTurns) this.#turn.stopAfterTools('cap')
    const why = this.#turn.stopping
    return why === undefined ? { continue: true } : { continue: false, stopReason: STOPPED[why] }
  }

  #read(): void {
    const lines = this.#reader.read()
    for (const line of lines) {
      const message = asMessage(line)
      if (!message) continue
      this.#remember(message)
      this.#feed(message)
      const unjudged = this.#gate?.unjudged(message)
      if (unjudged !== undefined) {
        this.#failure = {
          kind: 'other',
          message: `A tool call ran without being judged, so the session was ended: ${unjudged}`,
        }
        return
      }
    }
    if (lines.length > 0) this.#window?.note(this.#reader.position)
  }

  #remember({ type, message }: Record<string, unknown>): void {
    if (type !== 'assistant') return
    const { id, content } = message as { id?: unknown; content?: { type: string; text?: string }[] }
    if (typeof id === 'string') this.#rounds.add(id)
    const text = content?.find(block => block.type === 'text')?.text
    if (text) this.#lastText = text
  }

  /** A turn is over: told to the supervisor, or, while a person has the terminal, kept until they hand it back. */
  #ended(ends: Ends): void {
    if (ends.how === 'by-person') this.#window?.note({ takenOver: true })
    if (this.takenOver) this.#turn.hold(ends)
    else this.#end(ends)
  }

  #end(ends: Ends): void {
    this.#read()
    const next = this.#turn.takeAfterwards()
    if (next !== undefined) return void this.#say(next).catch(() => undefined)
    this.#rounds = new Set()
    this.#window?.note({ working: false, allowed: [] })
    this.#feed({ ...resultOf(ends), duration_ms: Math.round(performance.now() - this.#begunAt) })
    this.#feed({ type: 'system', subtype: 'session_state_changed', state: 'idle' })
    if (this.#conversation.parked) void this[Symbol.asyncDispose]()
  }

  async #say(text: string): Promise<void> {
    const window = this.#window
    if (!window) return
    this.#recorder?.note({ pcc: 'prompt', text })
    window.note({ owed: true })
    this.#conversation.prompted()
    this.#turn.asked()
    await window.type(text)
  }

  async #cutIn(): Promise<void> {
    this.#recorder?.note({ pcc: 'interrupt' })
    this.#conversation.interrupting()
    this.#turn.interrupting()
    await this.#window?.escape().catch(() => undefined) // a window that is gone is seen elsewhere
  }

  async #close(): Promise<void> {
    this.#gate?.close()
    if (this.#turn.running && this.#window?.alive) {
      await this.#cutIn()
      for (let waited = 0; this.#turn.running && waited < ESCAPE_MS; waited += LOOK_MS) await sleep(LOOK_MS)
    }
    this.#closed.abort()
    await this.#over
  }

  async #finish(): Promise<void> {
    const by = this.#closing ? 'owner' : 'agent'
    this.#gate?.close()
    this.#closed.abort()
    await this.#window?.close().catch(() => undefined) // nothing more can be done, and the session must end
    this.#recorder?.note({ pcc: 'ended', by, ...(by === 'agent' && this.#failure && { failure: this.#failure }) })
    this.#recorder?.close()
    for (const event of this.#conversation.end({ by, failure: this.#failure })) this.events.push(event)
  }

  #keeper() {
    return {
      asks: checkedAsks(this.#open.asks, this.#seat.askDeadlineMs),
      called: (request: Request) => {
        this.#recorder?.note({ pcc: 'call', request })
        this.#tell(this.#conversation.called(request))
      },
      allowed: (callId: string) => this.#window?.note({ allowed: [...this.#window.at.allowed, callId].slice(-200) }),
      gaveUp: (request: Request) => {
        this.#recorder?.note({ pcc: 'gave-up', request })
        this.#conversation.gaveUp(request)
        this.#turn.stopAfterTools('park')
      },
      takenOver: () => this.takenOver,
    }
  }

  #causeOfDeath(): Failure {
    if (!this.#started && this.#open.resume) {
      return { kind: 'resume_unknown', message: 'Claude Code did not go on with this conversation, and left.' }
    }
    return { kind: 'agent_crashed', message: 'Claude Code left its window: it ended, or a person ended it.' }
  }

  #mayBegin(): boolean {
    return !this.#closing && (this.#open.mayBegin?.() ?? true)
  }

  #feed(message: unknown): void {
    this.#recorder?.message(message)
    this.#tell(this.#conversation.read(message))
  }

  #tell(events: SessionEvent[]): void {
    for (const event of events) this.events.push(event)
  }
}

const STOPPED = {
  pause: 'Paused by the supervisor.',
  park: 'A call waits for a person.',
  cap: 'As many rounds as were allowed.',
}
const GO_ON = 'The work was interrupted. Go on with the task where you stopped.'
const HANDED_BACK = 'The person has handed back. Look at what they did, then go on with the task and finish it.'

function awayFor(refused: number): string {
  const calls = refused === 1 ? 'A call was' : `${refused} calls were`
  return `The supervisor was away for a while. ${calls} refused for that reason alone and may be made again. Go on with the task where you stopped.`
}

function notReady(waitingFor: string | undefined): AppError {
  const why = waitingFor === undefined ? 'it did not say that it is ready' : `it waits for: ${waitingFor}`
  return new AppError('tmux_failed', { problem: `Claude Code did not start within ${READY_MS / 1000} s (${why})` })
}

function failureOf(error: unknown): Failure {
  const isMissing = error instanceof AppError && error.code === 'agent_missing'
  return { kind: isMissing ? 'agent_missing' : 'other', message: messageOf(error) }
}
