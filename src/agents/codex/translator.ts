import type { PlanItem, SessionEvent } from '../../domain/session.ts'
import { TextAssembler } from '../session-output.ts'
import { CodexCalls } from './calls.ts'
import { readLimitEvent } from './failures.ts'
import { Delta, type Item, ItemNotice, PlanUpdated, RawItem, type Tokens, TokenUsage } from './wire.ts'

/** Translates Codex's notifications into events, one at a time and without any effect. */
export class CodexTranslator {
  readonly calls = new CodexCalls()
  readonly assembler = new TextAssembler()
  readonly spending: CodexSpending
  /** Items that were emitted in pieces and must not be emitted again when complete. */
  readonly #inPieces = new Set<string>()
  #rounds = 0
  #inRound = false

  constructor({ resumed }: { resumed: boolean }) {
    this.spending = new CodexSpending({ resumed })
  }

  /** Rounds with the model in this turn. */
  get rounds(): number {
    return this.#rounds
  }

  begin(): void {
    this.#rounds = 0
    this.#inRound = false
    this.#inPieces.clear()
  }

  /** The events of a notification; none for a notification that is not understood. */
  read(method: string, params: unknown): SessionEvent[] {
    switch (method) {
      case 'item/started':
        return this.#started(ItemNotice.safeParse(params).data?.item)
      case 'item/completed':
        return this.#completed(ItemNotice.safeParse(params).data?.item)
      case 'item/agentMessage/delta':
        return this.#piece('text', params)
      case 'item/reasoning/summaryTextDelta':
        return this.#piece('thinking', params)
      case 'item/reasoning/summaryPartAdded':
        return this.assembler.flush()
      case 'rawResponseItem/completed':
        return this.#raw(params)
      case 'turn/plan/updated':
        return this.#plan(params)
      case 'thread/tokenUsage/updated':
        return this.#roundOver(params)
      case 'account/rateLimits/updated': {
        const event = readLimitEvent(params)
        return event ? [event] : []
      }
      default:
        return []
    }
  }

  /** Emits text that was held back because more of it might have come. */
  flush(): SessionEvent[] {
    return this.assembler.flush()
  }

  #started(item: Item | undefined): SessionEvent[] {
    if (!item || item.type === 'userMessage') return []
    this.#noteRound()
    const events = this.assembler.flush()
    if (item.type === 'contextCompaction') return [...events, { kind: 'compacting', state: 'started' }]
    // A call is emitted when Codex asks about it, with everything that is known of it.
    this.calls.add(item)
    return events
  }

  #completed(item: Item | undefined): SessionEvent[] {
    if (!item || item.type === 'userMessage') return []
    this.#noteRound()
    if (item.type === 'agentMessage') return this.#whole('text', item, item.text ?? '')
    if (item.type === 'reasoning') return this.#whole('thinking', item, (item.summary ?? []).join('\n\n'))
    if (item.type === 'contextCompaction') return [...this.assembler.flush(), { kind: 'compacting', state: 'ended' }]
    return [...this.assembler.flush(), ...this.calls.ended(item)]
  }

  #whole(kind: 'text' | 'thinking', { id }: Item, text: string): SessionEvent[] {
    if (this.#inPieces.has(id) || text === '') return this.assembler.flush()
    return [...this.assembler.add(kind, text, { key: id }), ...this.assembler.flush()]
  }

  #piece(kind: 'text' | 'thinking', params: unknown): SessionEvent[] {
    const piece = Delta.safeParse(params).data
    if (!piece) return []
    this.#noteRound()
    this.#inPieces.add(piece.itemId)
    return this.assembler.add(kind, piece.delta, { key: piece.itemId })
  }

  /** Only the model's original call says that it is to run outside of the sandbox. */
  #raw(params: unknown): SessionEvent[] {
    const call = RawItem.safeParse(params).data?.item
    if (call && wantsUnsandboxed(call.arguments)) this.calls.markUnsandboxed(call.call_id)
    return []
  }

  #plan(params: unknown): SessionEvent[] {
    const plan = PlanUpdated.safeParse(params).data?.plan
    if (!plan) return []
    const items = plan.map(({ step, status }): PlanItem => ({ text: step, state: STATES[status] ?? 'pending' }))
    return [...this.assembler.flush(), { kind: 'plan', items }]
  }

  /** Codex reports usage once for each answer of the model, after the calls of that answer. */
  #roundOver(params: unknown): SessionEvent[] {
    this.#noteRound()
    this.#inRound = false
    this.calls.roundOver()
    return this.spending.read(params, this.#rounds)
  }

  #noteRound(): void {
    if (!this.#inRound) this.#rounds++
    this.#inRound = true
  }
}

const STATES: Record<string, PlanItem['state']> = { inProgress: 'active', completed: 'done' }

type TokenKind = 'totalTokens' | 'inputTokens' | 'cachedInputTokens' | 'cacheWriteInputTokens' | 'outputTokens'
const NOTHING: Tokens = ofEach(() => 0)

/** What a session has spent. Codex counts from the beginning of the conversation and reports no price. */
export class CodexSpending {
  #before: Tokens | undefined
  #spent = NOTHING

  constructor({ resumed }: { resumed: boolean }) {
    if (!resumed) this.#before = NOTHING
  }

  /** The past usage of a resumed conversation is not part of this session. */
  past(params: unknown): void {
    const usage = TokenUsage.safeParse(params).data
    if (usage) this.#before = usage.tokenUsage.total
  }

  read(params: unknown, turns: number): SessionEvent[] {
    const usage = TokenUsage.safeParse(params).data?.tokenUsage
    if (!usage) return []
    const { total, last, modelContextWindow } = usage
    this.#before ??= subtract(total, last)
    // What was spent once stays spent, whatever is told later.
    const spent = mostOf(this.#spent, subtract(total, this.#before))
    this.#spent = spent
    return [
      {
        kind: 'usage',
        inputTokens: Math.max(0, spent.inputTokens - spent.cachedInputTokens - spent.cacheWriteInputTokens),
        outputTokens: spent.outputTokens,
        cacheReadTokens: spent.cachedInputTokens,
        cacheWriteTokens: spent.cacheWriteInputTokens,
        costUsd: 0,
        turns,
        contextTokens: last.totalTokens,
        ...(modelContextWindow && { contextWindow: modelContextWindow }),
      },
    ]
  }
}

function subtract(whole: Tokens, part: Tokens): Tokens {
  return ofEach(key => Math.max(0, whole[key] - part[key]))
}

function mostOf(one: Tokens, other: Tokens): Tokens {
  return ofEach(key => Math.max(one[key], other[key]))
}

function ofEach(count: (key: TokenKind) => number): Tokens {
  return {
    totalTokens: count('totalTokens'),
    inputTokens: count('inputTokens'),
    cachedInputTokens: count('cachedInputTokens'),
    cacheWriteInputTokens: count('cacheWriteInputTokens'),
    outputTokens: count('outputTokens'),
  }
}

/** Values of `sandbox_permissions` for a call that runs in the sandbox. */
const SANDBOXED = new Set<unknown>([undefined, null, 'use_default'])

/** Whether the model wants this call to run outside of the sandbox or with more rights. `args` is the model's original text. */
export function wantsUnsandboxed(args: string): boolean {
  try {
    const fields = JSON.parse(args) as Record<string, unknown>
    return !SANDBOXED.has(fields['sandbox_permissions']) || fields['with_escalated_permissions'] === true
  } catch {
    return true // unreadable arguments count as unsandboxed
  }
}
