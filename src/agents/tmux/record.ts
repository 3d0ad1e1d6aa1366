import { toolCallName } from '../../domain/agent-tools.ts'
import type { Failure, OpenSession, Request, SessionEvent } from '../../domain/session.ts'
import { ClaudeConversation } from '../claude/conversation.ts'
import { SYNTHETIC } from '../claude/messages.ts'
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
 * The conversation as it is known from Claude Code's own record of it and from its hooks: told as the messages that its library
 * would have sent, so that turns and their ends mean the same as with the library.
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

  /** Throws where a recording is wanted that cannot be written. */
  begin(): void {
    this.#recorder = openRecorder(this.#open.record)
    this.#recorder.note({ pcc: 'open', agent: 'claude', resumed: this.#open.resume !== undefined })
  }

  /** Tools of ours, which are told by the name that they have everywhere. */
  give(own: OwnTools): void {
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

  /** Where the record lies is told with every hook. */
  follow({ transcript_path, source }: Record<string, unknown>): void {
    if (typeof transcript_path !== 'string') return
    this.#reader.follow(transcript_path, { skip: source === 'resume' })
    this.#subagents.follow(transcript_path, { skip: source === 'resume' })
  }

  /**
   * Tells what was written since; each message is shown to the caller first told, and false from it ends the reading. What subagents
   * say is not told, only shown.
   */
  read(goOn: (message: Record<string, unknown>) => boolean): boolean {
    const lines = this.#reader.read()
    for (const line of lines) {
      const message = toMessage(line)
      if (message) {
        this.#remember(message)
        this.#feed(message)
      }
      const shown = message ?? (isOfSubagent(line) ? line : undefined)
      if (shown && !goOn(shown)) return true
    }
    const beside = this.#subagents.read()
    return !beside.every(goOn) || beside.length > 0 || lines.length > 0
  }

  /** Calls that had their results before anybody here read of them. */
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
    const news = state === 'started' ? { status: 'compacting' } : { compact_result: 'success' }
    this.#feed({ type: 'system', subtype: 'status', ...news })
  }

  /** The agent's status line tells what the conversation has cost, how much its model can take, and how full the account is. */
  status(given: unknown): void {
    const { costUsd, contextWindow, windows } = readStatus(given)
    this.#contextWindow = contextWindow ?? this.#contextWindow
    if (costUsd !== undefined) this.#costs(costUsd)
    // What was refused is told by the refusal itself, and better.
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
    this.#tell(this.conversation.called(request))
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

  /** There is no login: what an agent says of itself that could begin without one. */
  withoutLogin(text: string): void {
    const message = { model: SYNTHETIC, content: [{ type: 'text', text }] }
    this.started({ vendorId: this.#open.resume?.vendorId ?? '', model: '', version: undefined })
    this.#feed({ type: 'assistant', message, error: 'authentication_failed' })
    this.ended({ how: 'failed', text: '' })
  }

  /** A turn is over. */
  ended(ends: TmuxTurnEnd): void {
    const duration_ms = Math.round(performance.now() - this.#begunAt)
    const permission_denials = Array.from({ length: this.#denials }, () => ({}))
    this.#rounds = new Set()
    this.#denials = 0
    this.#feed({ ...buildResult(ends, this.#error), duration_ms, permission_denials })
    this.#error = undefined
    this.#feed({ type: 'system', subtype: 'session_state_changed', state: 'idle' })
  }

  /** The last words. */
  close({ by, failure }: { by: 'owner' | 'agent'; failure: Failure | undefined }): void {
    this.#recorder?.note({ pcc: 'ended', by, ...(by === 'agent' && failure && { failure }) })
    this.#recorder?.close()
    this.#tell(this.conversation.end({ by, failure }))
  }

  /** The first word of a conversation that goes on is what it had cost before. */
  #costs(total_cost_usd: number): void {
    if (this.#past === undefined && this.#open.resume) {
      this.conversation.spentBefore({ total_cost_usd, model_usage: {} })
    }
    this.#past ??= total_cost_usd
    if (total_cost_usd === this.#cost) return
    this.#cost = total_cost_usd
    this.#tell(this.conversation.costs({ total_cost_usd, model_usage: {} }))
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
    this.#tell(this.conversation.read(message))
  }

  #tell(events: SessionEvent[]): void {
    for (const event of events) this.events.push(this.#withName(this.#withWindow(event)))
  }

  #withName(event: SessionEvent): SessionEvent {
    const own = event.kind === 'tool_request' ? this.#own?.toolOf(event.tool) : undefined
    return own && event.kind === 'tool_request' ? { ...event, tool: toolCallName(own) } : event
  }

  #withWindow(event: SessionEvent): SessionEvent {
    if (event.kind !== 'usage' || this.#contextWindow === undefined) return event
    return { ...event, contextWindow: this.#contextWindow }
  }
}
