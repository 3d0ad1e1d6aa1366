import type { SessionEvent } from '../../../domain/session.ts'
import type { Stopped } from '../wire/schemas.ts'

/** What a session has spent. Tokens are told at the end of a turn, for that turn; cost and context on the way. */
export class Spending {
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
