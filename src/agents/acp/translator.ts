import type { AgentManifest } from '../../domain/agent-manifest.ts'
import type { PlanItem, SessionEvent } from '../../domain/session.ts'
import type { OwnTools } from '../own-tools.ts'
import { TextAssembler } from '../session-output.ts'
import { AcpCalls } from './calls.ts'
import { readLimitEvent } from './failures.ts'
import { readOwnWords } from './own-words.ts'
import { hasRunUnjudged } from './tool-names.ts'
import { AcpToolCall, Chunk, Compaction, Plan, type Stopped, UsageUpdate } from './wire.ts'

type TranslatedManifest = Pick<AgentManifest, 'tools' | 'hold' | 'ownWords'>

/** Translates the agent's updates into events, one at a time and without any effect. */
export class AcpTranslator {
  readonly calls: AcpCalls
  readonly assembler = new TextAssembler()
  readonly spending: AcpSpending
  /** Describes a call that ran without our permission. */
  unjudged: string | undefined
  /** Whether the last thing that was said looks like an error of the agent itself. */
  saysError = false
  readonly #manifest: TranslatedManifest
  readonly #asksAll: boolean
  /** Rounds with the model in this turn: a new round begins after a tool has answered. */
  #rounds = 0
  #answered = true
  #compacting = false

  constructor(manifest: TranslatedManifest, { resumed, own }: { resumed: boolean; own?: OwnTools | undefined }) {
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

  /** The events of an update; none for an update that is not understood. */
  read(update: Record<string, unknown> & { sessionUpdate: string }): SessionEvent[] {
    switch (update.sessionUpdate) {
      case 'agent_message_chunk':
        return this.#chunk('text', update)
      case 'agent_thought_chunk':
        return this.#chunk('thinking', update)
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

  /** Emits text that was held back because more of it might have come. */
  flush(): SessionEvent[] {
    return this.assembler.flush()
  }

  #chunk(kind: 'text' | 'thinking', update: Record<string, unknown>): SessionEvent[] {
    const chunk = Chunk.safeParse(update).data
    if (!chunk) return []
    const { content, messageId } = chunk
    const by = readSubagent(chunk._meta)
    if (by.agentId === undefined) this.#noteRound()
    const text = content.type === 'text' ? (content.text ?? '') : `[${content.type}]`
    const own = kind === 'text' ? readOwnWords(text, this.#manifest.ownWords) : undefined
    if (own === 'notice') return []
    this.saysError = own === 'error'
    return this.assembler.add(kind, text, { key: messageId ?? '', ...by })
  }

  #call(update: Record<string, unknown>): SessionEvent[] {
    const piece = AcpToolCall.safeParse(update).data
    if (!piece) return []
    const by = readSubagent(piece._meta)
    if (update['sessionUpdate'] === 'tool_call' && by.agentId === undefined) this.#noteRound()
    this.saysError = false
    const call = this.calls.add(piece)
    const events = this.assembler.flush()
    const { status } = piece
    // Any other status counts as an end, because the protocol does not define it.
    const isOpen = status === undefined || status === null || status === 'pending' || status === 'in_progress'
    const ok = status === 'completed'
    const ended = isOpen ? undefined : this.calls.settle(call, { ok })
    if (ended && hasRunUnjudged(ended, this.#manifest)) this.unjudged = describeCall(call)
    if (this.#asksAll && isOpen && this.calls.hasUnaskedOutput(call)) this.unjudged = describeCall(call)
    if (!isOpen) {
      if (by.agentId === undefined) this.#answered = true
      return [...events, ...this.calls.request(call, by), ...this.calls.result(call, { ok, ...by })]
    }
    // A call that will be asked about is emitted then, with everything that is known of it.
    const isShown = status === 'in_progress' && !this.#asksAll
    return isShown ? [...events, ...this.calls.request(call, by)] : events
  }

  #noteRound(): void {
    if (this.#answered) this.#rounds++
    this.#answered = false
  }

  #plan(update: Record<string, unknown>): SessionEvent[] {
    const entries = Plan.safeParse(update).data?.entries
    if (!entries) return []
    const items = entries.map(
      ({ content, status }): PlanItem => ({ text: content, state: STATES[status] ?? 'pending' }),
    )
    return [...this.assembler.flush(), { kind: 'plan', items }]
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

function describeCall({ title, name, toolCallId }: AcpToolCall): string {
  return `${(title ?? name ?? '').slice(0, 200)} (${toolCallId})`
}

const STATES: Record<string, PlanItem['state']> = { in_progress: 'active', completed: 'done' }

/** The call that started a subagent, as Claude's adapter reports it. */
export function readSubagent(meta: Record<string, unknown> | null | undefined): { agentId?: string } {
  const claude = meta?.['claudeCode']
  const parent =
    typeof claude === 'object' && claude !== null ? (claude as Record<string, unknown>)['parentToolUseId'] : undefined
  return typeof parent === 'string' ? { agentId: parent } : {}
}

/** What a session has spent. Agents report the tokens of a turn at its end; cost and context during the turn. */
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
      // The past cost of a resumed conversation is not part of this session: counting starts at the first figure.
      this.#costBefore ??= this.#resumed ? cost.amount : 0
      this.#costUsd = Math.max(this.#costUsd, cost.amount - this.#costBefore)
    }
    return [this.#usage()]
  }

  /** The tokens of a turn that has ended. */
  turn({ usage, _meta }: Stopped): SessionEvent[] {
    const counts = _meta?.quota?.token_count
    const turn = usage
      ? { ...usage, cacheReadTokens: usage.cachedReadTokens, cacheWriteTokens: usage.cachedWriteTokens }
      : {
          inputTokens: counts?.input_tokens ?? 0,
          outputTokens: counts?.output_tokens ?? 0,
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
    return [this.#usage()]
  }

  #usage(): SessionEvent {
    return {
      kind: 'usage',
      ...this.#tokens,
      costUsd: this.#costUsd,
      ...(this.#contextTokens !== undefined && { contextTokens: this.#contextTokens }),
      ...(this.#contextWindow !== undefined && { contextWindow: this.#contextWindow }),
    }
  }
}
