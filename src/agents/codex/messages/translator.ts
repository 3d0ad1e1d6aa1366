import type { PlanItem, SessionEvent } from '../../../domain/session.ts'
import { Words } from '../../turns/words.ts'
import { Delta, type Item, ItemTold, PlanUpdated, RawItem } from '../wire/schemas.ts'
import { Calls } from './calls.ts'
import { wantsOut } from './escalation.ts'
import { limitEvent } from './limits.ts'
import { Spending } from './spending.ts'

/** Turns what Codex tells into events, one at a time and without any effect. */
export class Translator {
  readonly calls = new Calls()
  readonly words = new Words()
  readonly spending: Spending
  /** What was told piece by piece needs not be told again when it is whole. */
  readonly #inPieces = new Set<string>()
  #rounds = 0
  #inRound = false

  constructor({ resumed }: { resumed: boolean }) {
    this.spending = new Spending({ resumed })
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
        return this.#started(ItemTold.safeParse(params).data?.item)
      case 'item/completed':
        return this.#completed(ItemTold.safeParse(params).data?.item)
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
        const event = limitEvent(params)
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
    if (call && wantsOut(call.arguments)) this.calls.unfence(call.call_id)
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
