import type { Failure, Request, SessionEvent } from '../../domain/session.ts'
import {
  type Assistant,
  findApiError,
  type Result,
  readMessage,
  readPastSpending,
  type System,
  type VendorMessage,
} from './messages.ts'
import { type AgentClock, type ClaudeTurnEnded, LimitRecords, turnEnded } from './outcome.ts'
import { ClaudeTranslator, toolName } from './translator.ts'

/**
 * The state of one conversation, derived from the vendor's messages and from what we did to it. Live sessions and replays both
 * go through here, so a recording gives the same events as on the day it was made.
 *
 * From the prompt on, the end of a turn is owed, and it is reported once. It is held back until the agent says that it is idle:
 * two results may come for one turn, and a prompt that was queued meanwhile starts the next turn without an idle in between.
 */
export class ClaudeConversation {
  vendorId: string | undefined
  /** A call was deferred: the process is of no more use. */
  parked = false
  readonly #resumed: boolean
  readonly #translator: ClaudeTranslator
  readonly #limits: LimitRecords
  #turnOwed = false
  #started = false
  #pausing = false
  #interrupting = false
  #apiError: string | undefined
  #compacted = false
  #progress: 'start' | 'parked call' | 'work' = 'start'
  #gaveUp: Pick<Request, 'callId' | 'tool'> | undefined
  #refused: Failure | undefined
  #held: ClaudeTurnEnded | undefined
  #failedStart: Failure | undefined

  constructor({ resumed, vendorId, now = Date.now, tz }: ConversationOptions) {
    this.#resumed = resumed
    this.#translator = new ClaudeTranslator({ resumed })
    this.#limits = new LimitRecords({ now, tz })
    this.vendorId = vendorId
  }

  get running(): boolean {
    return this.#turnOwed && this.#held === undefined
  }

  /** Progress since the session was opened: nothing has arrived yet, a deferred call is being offered again, or the model has answered. */
  get progress(): 'start' | 'parked call' | 'work' {
    return this.#progress
  }

  prompted(): void {
    this.#turnOwed = true
  }

  pausing(): void {
    this.#pausing = true
  }

  interrupting(): void {
    this.#interrupting = true
  }

  /** A call waits for a person and will not be offered again: this turn ends because of it. */
  gaveUp({ callId, tool }: Request): void {
    this.#gaveUp ??= { callId, tool }
  }

  /** Sets what the conversation had spent before this session, as the vendor reports it. */
  setPast(raw: unknown): void {
    const past = readPastSpending(raw)
    if (past) this.#translator.setPast(past)
  }

  /** The cost so far, as the vendor reports it within a turn. */
  readCost(raw: unknown): SessionEvent[] {
    const spent = readPastSpending(raw)
    return spent && this.running ? this.#translator.cost(spent.total_cost_usd) : []
  }

  /** The agent asked for permission to make a call. */
  called({ callId, tool, input, agentId }: Request): SessionEvent[] {
    if (this.#progress === 'start') this.#progress = 'parked call'
    return this.#translator.call(callId, { tool: toolName(tool), input }, agentId === undefined ? {} : { agentId })
  }

  read(raw: unknown): SessionEvent[] {
    const message = readMessage(raw)
    return message ? this.#take(message) : []
  }

  /** The last events: the end of a turn that is still owed, then `ended`. `failure` says why the agent went by itself. */
  end({ by, failure }: { by: 'owner' | 'agent'; failure?: Failure | undefined }): SessionEvent[] {
    const events: SessionEvent[] = this.#flush()
    const cause = this.#failedStart ?? failure
    const isClosed = by === 'owner' || this.parked
    if (this.#turnOwed && this.#started) {
      events.push({ ...cutShort(isClosed ? undefined : cause), turns: this.#translator.endTurn() })
    }
    this.#turnOwed = false
    if (isClosed) return [...events, { kind: 'ended', reason: 'closed' }]
    return [
      ...events,
      { kind: 'ended', reason: this.#started ? 'crashed' : 'failed', ...(cause && { failure: cause }) },
    ]
  }

  #take(message: VendorMessage): SessionEvent[] {
    switch (message.type) {
      case 'assistant':
        return [...this.#flush(), ...this.#assistant(message)]
      case 'user':
        return this.#translator.user(message)
      case 'rate_limit_event':
        this.#limits.event(message)
        return this.#translator.limit(message)
      case 'result':
        return this.#result(message)
      default:
        return this.#system(message)
    }
  }

  /** An error of a subagent is reported to the agent that started it, and is no failure of the turn. */
  #assistant(message: Assistant): SessionEvent[] {
    this.#progress = 'work'
    if (isMain(message)) {
      this.#limits.assistant(message)
      this.#apiError = findApiError(message)
      if (this.#apiError === undefined) this.#refused = undefined
    }
    return this.#translator.assistant(message)
  }

  #system(message: System): SessionEvent[] {
    if (message.subtype === 'session_state_changed') {
      if (message.state === 'running') this.#turnOwed = true
      return message.state === 'idle' ? this.#flush() : []
    }
    if (message.subtype === 'status' && message.compact_result === 'success') this.#compacted = true
    if (message.subtype !== 'init') return this.#noteRefusedLogin(this.#translator.system(message))
    const events: SessionEvent[] = this.#flush()
    this.#turnOwed = true
    if (this.#started && this.vendorId === message.session_id) return events
    this.#started = true
    this.vendorId = message.session_id
    const { model, cwd, tools, claude_code_version: version } = message
    return [
      ...events,
      {
        kind: 'started',
        vendorId: message.session_id,
        model,
        cwd,
        tools,
        resumed: this.#resumed,
        ...(version && { version }),
      },
    ]
  }

  #result(result: Result): SessionEvent[] {
    if (!this.#started && result.is_error) {
      this.#failedStart = startFailure(result, this.#resumed)
      return []
    }
    const ended = turnEnded(result, {
      pausing: this.#pausing,
      interrupting: this.#interrupting,
      error: this.#apiError,
      refused: this.#refused,
      limits: this.#limits,
      compacted: this.#compacted,
      gaveUp: this.#gaveUp,
    })
    const events = [...(this.#held && !belongTogether(this.#held, ended) ? this.#flush() : [])]
    this.#held = this.#held?.outcome === 'parked' ? this.#held : ended
    return [...events, ...this.#translator.result(result)]
  }

  /** A refused login stays refused, however often it is tried. */
  #noteRefusedLogin(events: SessionEvent[]): SessionEvent[] {
    for (const event of events)
      if (event.kind === 'retry' && event.failure.kind === 'auth') this.#refused = event.failure
    return events
  }

  #flush(): SessionEvent[] {
    const ended = this.#held
    if (!ended) return []
    this.#held = undefined
    this.#turnOwed = false
    this.#pausing = false
    this.#interrupting = false
    this.#apiError = undefined
    this.#refused = undefined
    this.#compacted = false
    this.#gaveUp = undefined
    this.#limits.forget()
    this.parked = ended.outcome === 'parked'
    return [{ ...ended, turns: this.#translator.endTurn() }]
  }
}

interface ConversationOptions extends Partial<AgentClock> {
  resumed: boolean
  vendorId?: string | undefined
}

function isMain({ agent_id, parent_tool_use_id }: Assistant): boolean {
  return agent_id === undefined && !parent_tool_use_id
}

/** A call that was deferred in a batch can give a second result for the same turn. */
function belongTogether(first: ClaudeTurnEnded, second: ClaudeTurnEnded): boolean {
  return first.outcome === 'parked' || second.outcome === 'parked'
}

/** An error before the agent has introduced itself. After a resume it means that there is no such conversation, unless the agent names another cause. */
function startFailure(result: Result, resumed: boolean): Failure {
  const message = result.errors?.join('; ') || result.result || 'the agent did not start'
  const isUnknown = resumed && result.startup_failure_reason === undefined
  if (isUnknown) return { kind: 'resume_unknown', message: `Claude Code does not know this conversation (${message}).` }
  return { kind: 'other', message }
}

function cutShort(failure: Failure | undefined): ClaudeTurnEnded {
  const outcome = failure ? 'failed' : 'interrupted'
  return { kind: 'turn_ended', outcome, text: '', turns: 0, durationMs: 0, denials: 0, ...(failure && { failure }) }
}
