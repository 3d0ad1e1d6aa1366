import type { PlanItem, SessionEvent } from '../../domain/session.ts'
import { TextAssembler } from '../session-output.ts'
import { CodexCalls } from './calls.ts'
import { readLimitEvent } from './failures.ts'
import { Delta, type Item, ItemNotice, PlanUpdated, RawItem, type Tokens, TokenUsage } from './wire.ts'

/** Turns what Codex tells into events, one at a time and without any effect. */
export class CodexTranslator {
  readonly calls = new CodexCalls()
  readonly words = new TextAssembler()
  readonly spending: CodexSpending
  /** What was told piece by piece needs not be told again when it is whole. */
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

  /** What a notification tells. One that is not understood tells nothing. */
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
        return this.words.flush()
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

  /** Everything that was held back, because more of it might have come. */
  flush(): SessionEvent[] {
    return this.words.flush()
  }

  #started(item: Item | undefined): SessionEvent[] {
    if (!item || item.type === 'userMessage') return []
    this.#speaks()
    const events = this.words.flush()
    if (item.type === 'contextCompaction') return [...events, { kind: 'compacting', state: 'started' }]
    // A call is told when it is asked, with all that is known of it.
    this.calls.add(item)
    return events
  }

  #completed(item: Item | undefined): SessionEvent[] {
    if (!item || item.type === 'userMessage') return []
    this.#speaks()
    if (item.type === 'agentMessage') return this.#whole('text', item, item.text ?? '')
    if (item.type === 'reasoning') return this.#whole('thinking', item, (item.summary ?? []).join('\n\n'))
    if (item.type === 'contextCompaction') return [...this.words.flush(), { kind: 'compacting', state: 'ended' }]
    return [...this.words.flush(), ...this.calls.ended(item)]
  }

  #whole(kind: 'text' | 'thinking', { id }: Item, text: string): SessionEvent[] {
    if (this.#inPieces.has(id) || text === '') return this.words.flush()
    return [...this.words.add(kind, text, { key: id }), ...this.words.flush()]
  }

  #piece(kind: 'text' | 'thinking', params: unknown): SessionEvent[] {
    const piece = Delta.safeParse(params).data
    if (!piece) return []
    this.#speaks()
    this.#inPieces.add(piece.itemId)
    return this.words.add(kind, piece.delta, { key: piece.itemId })
  }

  /** Only the call as the model made it says that it is to run outside of the sandbox. */
  #raw(params: unknown): SessionEvent[] {
    const call = RawItem.safeParse(params).data?.item
    if (call && wantsUnsandboxed(call.arguments)) this.calls.unfence(call.call_id)
    return []
  }

  #plan(params: unknown): SessionEvent[] {
    const plan = PlanUpdated.safeParse(params).data?.plan
    if (!plan) return []
    const items = plan.map(({ step, status }): PlanItem => ({ text: step, state: STATES[status] ?? 'pending' }))
    return [...this.words.flush(), { kind: 'plan', items }]
  }

  /** Told once for each answer of the model, after the calls that it made. */
  #roundOver(params: unknown): SessionEvent[] {
    this.#speaks()
    this.#inRound = false
    this.calls.roundOver()
    return this.spending.read(params, this.#rounds)
  }

  #speaks(): void {
    if (!this.#inRound) this.#rounds++
    this.#inRound = true
  }
}

const STATES: Record<string, PlanItem['state']> = { inProgress: 'active', completed: 'done' }

const NOTHING: Tokens = {
  totalTokens: 0,
  inputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteInputTokens: 0,
  outputTokens: 0,
}

/** What a session has spent. Codex counts from the beginning of the conversation, and knows no price. */
export class CodexSpending {
  #before: Tokens | undefined

  constructor({ resumed }: { resumed: boolean }) {
    if (!resumed) this.#before = NOTHING
  }

  /** What a resumed conversation tells of its past is no part of this session. */
  past(params: unknown): void {
    const told = TokenUsage.safeParse(params).data
    if (told) this.#before = told.tokenUsage.total
  }

  read(params: unknown, turns: number): SessionEvent[] {
    const told = TokenUsage.safeParse(params).data?.tokenUsage
    if (!told) return []
    const { total, last, modelContextWindow } = told
    this.#before ??= less(total, last)
    const spent = less(total, this.#before)
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

function less(from: Tokens, what: Tokens): Tokens {
  const left = (key: keyof typeof NOTHING) => Math.max(0, Number(from[key]) - Number(what[key]))
  return {
    totalTokens: left('totalTokens'),
    inputTokens: left('inputTokens'),
    cachedInputTokens: left('cachedInputTokens'),
    cacheWriteInputTokens: left('cacheWriteInputTokens'),
    outputTokens: left('outputTokens'),
  }
}

/** What a call says that is to run in the sandbox. */
const FENCED = new Set<unknown>([undefined, null, 'use_default'])

/** Whether the model wants this call to run outside of the sandbox, or with more than it gives. Arguments are as the model wrote them. */
export function wantsUnsandboxed(args: string): boolean {
  try {
    const given = JSON.parse(args) as Record<string, unknown>
    return !FENCED.has(given['sandbox_permissions']) || given['with_escalated_permissions'] === true
  } catch {
    return true // nobody can tell
  }
}
