import type { SessionEvent } from '../../../domain/session.ts'
import { type Tokens, TokenUsage } from '../wire/schemas.ts'

const NOTHING: Tokens = {
  totalTokens: 0,
  inputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteInputTokens: 0,
  outputTokens: 0,
}

/** What a session has spent. Codex counts from the beginning of the conversation, and knows no price. */
export class Spending {
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
