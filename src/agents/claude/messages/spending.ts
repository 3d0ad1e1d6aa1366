import type { SessionEvent } from '../../../domain/session.ts'
import type { Assistant, Result, Usage } from './wire.ts'

type UsageEvent = Extract<SessionEvent, { kind: 'usage' }>
type Totals = Omit<UsageEvent, 'kind' | 'contextTokens' | 'contextWindow'>

const NOTHING: Totals = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0 }

/**
 * Tokens and cost over the conversation. The exact totals come with each result and are cumulative; between two results a
 * running sum of what the answers told is added, so that a turn of an hour does not show nothing for an hour.
 */
export class Spending {
  /** Undefined in a resumed conversation until its past is told with the first result: a sum without it would be too low. */
  #exact: Totals | undefined
  #sinceThen = NOTHING
  #context: number | undefined
  #window: number | undefined
  #lastAnswer = ''

  constructor({ resumed }: { resumed: boolean }) {
    this.#exact = resumed ? undefined : NOTHING
  }

  /** One answer of the model comes as several messages; the first of them counts. */
  onAnswer({ message, agent_id, parent_tool_use_id }: Assistant): UsageEvent | undefined {
    const { id, usage } = message
    if (!usage || id === '' || id === this.#lastAnswer) return undefined
    this.#lastAnswer = id
    this.#sinceThen = sum(this.#sinceThen, totalsOf(usage))
    const isMain = agent_id === undefined && !parent_tool_use_id
    if (isMain) this.#context = contextOf(usage)
    return this.#event()
  }

  onResult({ modelUsage, total_cost_usd }: Result): UsageEvent | undefined {
    const models = Object.values(modelUsage)
    // The result of a crash or of a failed start carries zeros: the totals known before are better.
    if (models.length === 0) return undefined
    this.#exact = models.map(totalsOfModel).reduce(sum, { ...NOTHING, costUsd: total_cost_usd })
    this.#sinceThen = NOTHING
    this.#window = Math.max(...models.map(model => model.contextWindow ?? 0)) || undefined
    return this.#event()
  }

  #event(): UsageEvent | undefined {
    if (!this.#exact) return undefined
    return {
      kind: 'usage',
      ...sum(this.#exact, this.#sinceThen),
      ...(this.#context !== undefined && { contextTokens: this.#context }),
      ...(this.#window !== undefined && { contextWindow: this.#window }),
    }
  }
}

function totalsOf(usage: Usage): Totals {
  return {
    inputTokens: usage.input_tokens ?? 0,
    outputTokens: usage.output_tokens ?? 0,
    cacheReadTokens: usage.cache_read_input_tokens ?? 0,
    cacheWriteTokens: usage.cache_creation_input_tokens ?? 0,
    costUsd: 0,
  }
}

function totalsOfModel(model: Result['modelUsage'][string]): Totals {
  return {
    inputTokens: model.inputTokens,
    outputTokens: model.outputTokens,
    cacheReadTokens: model.cacheReadInputTokens,
    cacheWriteTokens: model.cacheCreationInputTokens,
    costUsd: 0,
  }
}

function contextOf(usage: Usage): number {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = totalsOf(usage)
  return inputTokens + outputTokens + cacheReadTokens + cacheWriteTokens
}

function sum(a: Totals, b: Totals): Totals {
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    cacheReadTokens: a.cacheReadTokens + b.cacheReadTokens,
    cacheWriteTokens: a.cacheWriteTokens + b.cacheWriteTokens,
    costUsd: a.costUsd + b.costUsd,
  }
}
