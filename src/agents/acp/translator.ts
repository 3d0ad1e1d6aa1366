import type { AgentManifest } from '../../domain/agent-manifest.ts'
import type { PlanItem, SessionEvent } from '../../domain/session.ts'
import type { OwnTools } from '../own-tools.ts'
import { TextAssembler } from '../session-output.ts'
import { AcpCalls } from './calls.ts'
import { readLimitEvent } from './failures.ts'
import { hasRunUnjudged } from './tool-names.ts'
import { AcpToolCall, Chunk, Compaction, Plan, type Stopped, UsageUpdate } from './wire.ts'

/** Turns the agent's updates into events, one at a time and without any effect. */
export class AcpTranslator {
  readonly calls: AcpCalls
  readonly words = new TextAssembler()
  readonly spending: AcpSpending
  /** A call that ran without our yes, in words. */
  unjudged: string | undefined
  readonly #manifest: Pick<AgentManifest, 'tools' | 'hold'>
  readonly #asksAll: boolean
  /** Rounds with the model in this turn: it speaks again after a tool has answered. */
  #rounds = 0
  #answered = true
  #compacting = false

  constructor(
    manifest: Pick<AgentManifest, 'tools' | 'hold'>,
    { resumed, own }: { resumed: boolean; own?: OwnTools | undefined },
  ) {
    this.#manifest = manifest
    this.calls = new AcpCalls(manifest.tools, own)
    this.#asksAll = manifest.hold === 'every-call'
    this.spending = new AcpSpending({ resumed })
  }

  get rounds(): number {
    return this.#rounds
  }

  /** A turn begins. */
  begin(): void {
    this.#rounds = 0
    this.#answered = true
  }

  /** What an update tells. One that is not understood tells nothing. */
  read(update: Record<string, unknown> & { sessionUpdate: string }): SessionEvent[] {
    switch (update.sessionUpdate) {
      case 'agent_message_chunk':
        return this.#said('text', update)
      case 'agent_thought_chunk':
        return this.#said('thinking', update)
      case 'tool_call':
      case 'tool_call_update':
        return this.#call(update)
      case 'plan':
        return this.#plan(update)
      case 'usage_update':
        return this.#usage(update)
      case 'compaction_update':
        return this.#compaction(update)
      default:
        return []
    }
  }

  /** Everything that was held back, because more of it might have come. */
  flush(): SessionEvent[] {
    return this.words.flush()
  }

  #said(kind: 'text' | 'thinking', update: Record<string, unknown>): SessionEvent[] {
    const chunk = Chunk.safeParse(update).data
    if (!chunk) return []
    const { content, messageId } = chunk
    const by = readSubagent(chunk._meta)
    if (by.agentId === undefined) this.#speaks()
    const text = content.type === 'text' ? (content.text ?? '') : `[${content.type}]`
    return this.words.add(kind, text, { key: messageId ?? '', ...by })
  }

  #call(update: Record<string, unknown>): SessionEvent[] {
    const piece = AcpToolCall.safeParse(update).data
    if (!piece) return []
    const by = readSubagent(piece._meta)
    if (update['sessionUpdate'] === 'tool_call' && by.agentId === undefined) this.#speaks()
    const call = this.calls.add(piece)
    const events = this.words.flush()
    const { status } = piece
    // Whatever is not one of these is an end: nothing is known of a word that the protocol does not have.
    const isOpen = status === undefined || status === null || status === 'pending' || status === 'in_progress'
    const ok = status === 'completed'
    const ended = isOpen ? undefined : this.calls.settle(call, { ok })
    if (ended && hasRunUnjudged(ended, this.#manifest)) this.unjudged = wordsOf(call)
    if (this.#asksAll && isOpen && this.calls.printsUnasked(call)) this.unjudged = wordsOf(call)
    if (!isOpen) {
      if (by.agentId === undefined) this.#answered = true
      return [...events, ...this.calls.request(call, by), ...this.calls.result(call, { ok, ...by })]
    }
    // One that will be asked about is told then, with all that is known of it.
    const isTold = status === 'in_progress' && !this.#asksAll
    return isTold ? [...events, ...this.calls.request(call, by)] : events
  }

  #speaks(): void {
    if (this.#answered) this.#rounds++
    this.#answered = false
  }

  #plan(update: Record<string, unknown>): SessionEvent[] {
    const entries = Plan.safeParse(update).data?.entries
    if (!entries) return []
    const items = entries.map(
      ({ content, status }): PlanItem => ({ text: content, state: STATES[status] ?? 'pending' }),
    )
    return [...this.words.flush(), { kind: 'plan', items }]
  }

  #usage(update: Record<string, unknown>): SessionEvent[] {
    const usage = UsageUpdate.safeParse(update).data
    if (!usage) return []
    const limit = readLimitEvent(usage._meta)
    return [...(limit ? [limit] : []), ...this.spending.context(usage)]
  }

  #compaction(update: Record<string, unknown>): SessionEvent[] {
    const isRunning = !['completed', 'failed', 'cancelled'].includes(Compaction.safeParse(update).data?.status ?? '')
    if (isRunning === this.#compacting) return []
    this.#compacting = isRunning
    return [{ kind: 'compacting', state: isRunning ? 'started' : 'ended' }]
  }
}

function wordsOf({ title, name, toolCallId }: AcpToolCall): string {
  return `${(title ?? name ?? '').slice(0, 200)} (${toolCallId})`
}

const STATES: Record<string, PlanItem['state']> = { in_progress: 'active', completed: 'done' }

/** Claude's adapter says of which call a subagent works. */
export function readSubagent(meta: Record<string, unknown> | null | undefined): { agentId?: string } {
  const claude = meta?.['claudeCode']
  const parent =
    typeof claude === 'object' && claude !== null ? (claude as Record<string, unknown>)['parentToolUseId'] : undefined
  return typeof parent === 'string' ? { agentId: parent } : {}
}

/** What a session has spent. Tokens are told at the end of a turn, for that turn; cost and context on the way. */
class AcpSpending {
  #tokens = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 }
  #costUsd = 0
  #costBefore: number | undefined
  #contextTokens: number | undefined
  #contextWindow: number | undefined
  readonly #resumed: boolean

  constructor({ resumed }: { resumed: boolean }) {
    this.#resumed = resumed
  }

  /** How full the context is, and what the conversation has cost in all. */
  context({
    used,
    size,
    cost,
  }: {
    used: number
    size: number
    cost?: { amount: number } | null | undefined
  }): SessionEvent[] {
    this.#contextTokens = used
    this.#contextWindow = size
    if (cost) {
      // What a resumed conversation had spent before is no part of this session: the first figure is where it starts.
      this.#costBefore ??= this.#resumed ? cost.amount : 0
      this.#costUsd = Math.max(this.#costUsd, cost.amount - this.#costBefore)
    }
    return [this.#told()]
  }

  /** The tokens of a turn that has ended. */
  turn({ usage, _meta }: Stopped): SessionEvent[] {
    const told = _meta?.quota?.token_count
    const turn = usage
      ? { ...usage, cacheReadTokens: usage.cachedReadTokens, cacheWriteTokens: usage.cachedWriteTokens }
      : {
          inputTokens: told?.input_tokens ?? 0,
          outputTokens: told?.output_tokens ?? 0,
          cacheReadTokens: 0,
          cacheWriteTokens: 0,
        }
    if (turn.inputTokens + turn.outputTokens === 0) return []
    this.#tokens = {
      inputTokens: this.#tokens.inputTokens + turn.inputTokens,
      outputTokens: this.#tokens.outputTokens + turn.outputTokens,
      cacheReadTokens: this.#tokens.cacheReadTokens + turn.cacheReadTokens,
      cacheWriteTokens: this.#tokens.cacheWriteTokens + turn.cacheWriteTokens,
    }
    return [this.#told()]
  }

  #told(): SessionEvent {
    return {
      kind: 'usage',
      ...this.#tokens,
      costUsd: this.#costUsd,
      ...(this.#contextTokens !== undefined && { contextTokens: this.#contextTokens }),
      ...(this.#contextWindow !== undefined && { contextWindow: this.#contextWindow }),
    }
  }
}
