import { toolCallName } from '../../domain/own-server.ts'
import type { Failure, OpenSession, Request, SessionEvent } from '../../domain/session.ts'
import { ClaudeConversation } from '../claude/conversation.ts'
import { SYNTHETIC } from '../claude/messages.ts'
import { isOwnTranscript } from '../claude/past-sessions.ts'
import { TranscriptReader } from '../json-lines.ts'
import type { OwnTools } from '../own-tools.ts'
import { EventQueue, openRecorder, type Recorder } from '../session-output.ts'
import {
  buildResult,
  isInterruption,
  isOfSubagent,
  readApiError,
  readStatus,
  type SubagentPosition,
  SubagentRecords,
  type TmuxTurnEnd,
  type TranscriptApiError,
  toMessage,
} from './transcript.ts'
import type { TranscriptState } from './turn.ts'

/**
 * The conversation as known from Claude Code's own record and from its hooks. Both are translated into the messages that the
 * vendor's library would have sent, so that turns and their ends mean the same as with the library.
 */
export class TmuxRecord {
  readonly events = new EventQueue()
  readonly conversation: ClaudeConversation
  readonly #open: OpenSession
  #recorder: Recorder | undefined
  #reader = new TranscriptReader({ offset: 0 })
  #subagents = new SubagentRecords()
  #rounds = new Set<string>()
  #lastText = ''
  #begunAt = performance.now()
  #denials = 0
  #isCutShort = false
  #error: TranscriptApiError | undefined
  #contextWindow: number | undefined
  #own: OwnTools | undefined
  #windows = ''
  #past: number | undefined
  #cost = 0

  constructor(open: OpenSession) {
    const { resume, env } = open
    const vendorId = resume && !resume.fork ? resume.vendorId : undefined
    this.conversation = new ClaudeConversation({ resumed: resume !== undefined, vendorId, tz: env['TZ'] })
    this.#open = open
  }

  /** Throws when the wanted recording cannot be written. */
  begin(): void {
    this.#recorder = openRecorder(this.#open.record)
    this.#recorder.note({ pcc: 'open', agent: 'claude', resumed: this.#open.resume !== undefined })
  }

  /** Sets our tools, which are emitted under their usual names. */
  setTools(own: OwnTools): void {
    this.#own = own
  }

  get written(): TranscriptState {
    return { lastText: this.#lastText, isCutShort: this.#isCutShort }
  }

  /** Rounds with the model in this turn. */
  get rounds(): number {
    return this.#rounds.size
  }

  get position(): SubagentPosition {
    return { ...this.#reader.position, subagents: this.#subagents.position }
  }

  /** Goes on reading where an earlier daemon stopped. */
  readFrom(position: SubagentPosition): void {
    this.#reader = new TranscriptReader({ path: position.transcript, offset: position.offset })
    this.#subagents = new SubagentRecords(position)
  }

  /** Every hook reports the path of the record. */
  follow({ transcript_path, source }: Record<string, unknown>): void {
    if (typeof transcript_path !== 'string') return
    if (this.#open.sandbox?.made && !isOwnTranscript(transcript_path, this.#open)) return
    this.#reader.follow(transcript_path, { skip: source === 'resume' })
    this.#subagents.follow(transcript_path, { skip: source === 'resume' })
  }

  /**
   * Emits what was added to the record. Each message is emitted and then passed to `goOn`; false ends the reading. Messages of subagents
   * are passed to `goOn` only. Returns whether anything was new.
   */
  read(goOn: (message: Record<string, unknown>) => boolean): boolean {
    const lines = this.#reader.read()
    for (const line of lines) {
      const message = toMessage(line)
      if (message) {
        this.#remember(message)
        this.#feed(message)
      }
      const passed = message ?? (isOfSubagent(line) ? line : undefined)
      if (passed && !goOn(passed)) return true
    }
    const messages = this.#subagents.read()
    return !messages.every(goOn) || messages.length > 0 || lines.length > 0
  }

  /** Calls whose results were there before this record was followed. */
  pastCalls(): string[] {
    return this.#subagents.pastCalls()
  }

  started({ vendorId, model, version }: { vendorId: unknown; model: unknown; version: string | undefined }): void {
    this.#feed({
      ...{ type: 'system', subtype: 'init', session_id: vendorId, model, cwd: this.#open.cwd, tools: [] },
      claude_code_version: version,
    })
  }

  compacting(state: 'started' | 'ended'): void {
    const change = state === 'started' ? { status: 'compacting' } : { compact_result: 'success' }
    this.#feed({ type: 'system', subtype: 'status', ...change })
  }

  /** The agent's status line reports the cost of the conversation, the context window of its model, and how full the account is. */
  status(line: unknown): void {
    const { costUsd, contextWindow, windows } = readStatus(line)
    this.#contextWindow = contextWindow ?? this.#contextWindow
    if (costUsd !== undefined) this.#noteCost(costUsd)
    // After a refusal the refusal itself says more.
    if (this.#error || windows === undefined || JSON.stringify(windows) === this.#windows) return
    this.#windows = JSON.stringify(windows)
    this.events.push({ kind: 'limit', status: 'allowed', windows })
  }

  prompted(text: string): void {
    this.#recorder?.note({ pcc: 'prompt', text })
    this.conversation.prompted()
  }

  begun(): void {
    this.#isCutShort = false
    this.#begunAt = performance.now()
    this.conversation.prompted()
  }

  called(request: Request): void {
    this.#recorder?.note({ pcc: 'call', request })
    this.#emit(this.conversation.called(request))
  }

  gaveUp(request: Request): void {
    this.#recorder?.note({ pcc: 'gave-up', request })
    this.conversation.gaveUp(request)
  }

  denied(): void {
    this.#denials += 1
  }

  pausing(): void {
    this.#recorder?.note({ pcc: 'pause' })
    this.conversation.pausing()
  }

  interrupting(): void {
    this.#recorder?.note({ pcc: 'interrupt' })
    this.conversation.interrupting()
  }

  /** Emits what the library's agent would report without a login; the interactive one cannot start without it. */
  withoutLogin(text: string): void {
    const message = { model: SYNTHETIC, content: [{ type: 'text', text }] }
    this.started({ vendorId: this.#open.resume?.vendorId ?? '', model: '', version: undefined })
    this.#feed({ type: 'assistant', message, error: 'authentication_failed' })
    this.ended({ how: 'failed', text: '' })
  }

  /** A turn is over. */
  ended(turnEnd: TmuxTurnEnd): void {
    const duration_ms = Math.round(performance.now() - this.#begunAt)
    const permission_denials = Array.from({ length: this.#denials }, () => ({}))
    this.#rounds = new Set()
    this.#denials = 0
    this.#feed({ ...buildResult(turnEnd, this.#error), duration_ms, permission_denials })
    this.#error = undefined
    this.#feed({ type: 'system', subtype: 'session_state_changed', state: 'idle' })
  }

  /** Emits the last events. */
  close({ by, failure }: { by: 'owner' | 'agent'; failure: Failure | undefined }): void {
    this.#recorder?.note({ pcc: 'ended', by, ...(by === 'agent' && failure && { failure }) })
    this.#recorder?.close()
    this.#emit(this.conversation.end({ by, failure }))
  }

  /** The first figure of a resumed conversation is its past cost. */
  #noteCost(total_cost_usd: number): void {
    if (this.#past === undefined && this.#open.resume) {
      this.conversation.setPast({ total_cost_usd, model_usage: {} })
    }
    this.#past ??= total_cost_usd
    if (total_cost_usd === this.#cost) return
    this.#cost = total_cost_usd
    this.#emit(this.conversation.readCost({ total_cost_usd, model_usage: {} }))
  }

  #remember(line: Record<string, unknown>): void {
    const { type, message } = line
    if (isInterruption(line)) this.#isCutShort = true
    if (type !== 'assistant') return
    this.#error = readApiError(line)
    const limit = (line['apiErrorParams'] as { rate_limit_info?: unknown } | undefined)?.rate_limit_info
    if (this.#error && limit !== undefined) this.#feed({ type: 'rate_limit_event', rate_limit_info: limit })
    const { id, content } = message as { id?: unknown; content?: { type: string; text?: string }[] }
    if (typeof id === 'string') this.#rounds.add(id)
    const text = content?.find(block => block.type === 'text')?.text
    if (text) this.#lastText = text
  }

  #feed(message: unknown): void {
    this.#recorder?.message(message)
    this.#emit(this.conversation.read(message))
  }

  #emit(events: SessionEvent[]): void {
    for (const event of events) this.events.push(this.#withName(this.#withWindow(event)))
  }

  #withName(event: SessionEvent): SessionEvent {
    const own = event.kind === 'tool_request' ? this.#own?.findTool(event.tool) : undefined
    return own && event.kind === 'tool_request' ? { ...event, tool: toolCallName(own) } : event
  }

  #withWindow(event: SessionEvent): SessionEvent {
    if (event.kind !== 'usage' || this.#contextWindow === undefined) return event
    return { ...event, contextWindow: this.#contextWindow }
  }
}
