import type { SessionEvent } from '../../domain/session.ts'
import type { Assistant, Result, Usage } from './messages.ts'

type UsageEvent = Extract<SessionEvent, { kind: 'usage' }>
type Totals = Omit<UsageEvent, 'kind' | 'turns' | 'contextTokens' | 'contextWindow'>

const NOTHING: Totals = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0 }

/**
 * Tokens, cost and rounds since the session was opened. The exact totals come with each result; they are cumulative and, in
 * a resumed conversation, include its past, which is subtracted here. Between two results the usage of the single answers is
 * added, so that a turn of an hour does not show nothing for an hour.
 */
export class ClaudeSpending {
  /** What the conversation had spent before. While that is unknown (undefined), only the running sum counts. */
  #past: Totals | undefined
  #exact = NOTHING
  #sinceExact = NOTHING
  #reported = NOTHING
  #rounds = 0
  #context: number | undefined
  #window: number | undefined
  #lastAnswer = ''

  constructor({ resumed }: { resumed: boolean }) {
    this.#past = resumed ? undefined : NOTHING
  }

  /** Called before the first answer of a resumed conversation. */
  setPast({ modelUsage, total_cost_usd }: Pick<Result, 'modelUsage' | 'total_cost_usd'>): void {
    this.#past = totalsOfModels(modelUsage, total_cost_usd)
  }

  /** The rounds with the model in this turn, as `--max-turns` counts them; the next turn starts at zero. */
  endTurn(): number {
    const rounds = this.#rounds
    this.#rounds = 0
    return rounds
  }

  /** One answer of the model comes as several messages; the first of them counts. */
  onAnswer({ message, agent_id, parent_tool_use_id }: Assistant): UsageEvent | undefined {
    const { id, usage } = message
    if (id === '' || id === this.#lastAnswer) return undefined
    this.#lastAnswer = id
    const isMain = agent_id === undefined && !parent_tool_use_id
    if (isMain) this.#rounds++
    if (!usage) return undefined
    this.#sinceExact = sum(this.#sinceExact, totalsOf(usage))
    if (isMain) this.#context = contextOf(usage)
    return this.#event()
  }

  /** Takes the cost so far, requested within a turn. Only the cost: the tokens of an unfinished answer would count twice. */
  onCost(totalUsd: number): UsageEvent | undefined {
    if (!this.#past) return undefined
    this.#exact = { ...this.#exact, costUsd: Math.max(0, totalUsd - this.#past.costUsd) }
    return this.#event()
  }

  onResult({ modelUsage, total_cost_usd }: Result): UsageEvent | undefined {
    const models = Object.values(modelUsage)
    // The result of a crash or of a failed start carries zeros: the earlier totals are better.
    if (models.length === 0) return undefined
    this.#window = Math.max(...models.map(model => model.contextWindow ?? 0)) || undefined
    if (this.#past) {
      this.#exact = subtract(totalsOfModels(modelUsage, total_cost_usd), this.#past)
      this.#sinceExact = NOTHING
    }
    return this.#event()
  }

  /** Totals only grow: code of an agent that writes a smaller one would give a budget back. */
  #event(): UsageEvent {
    this.#reported = merge(this.#reported, sum(this.#exact, this.#sinceExact), Math.max)
    return {
      kind: 'usage',
      ...this.#reported,
      turns: this.#rounds,
      ...(this.#context !== undefined && { contextTokens: this.#context }),
      ...(this.#window !== undefined && { contextWindow: this.#window }),
    }
  }
}

function totalsOfModels(models: Result['modelUsage'], costUsd: number): Totals {
  return Object.values(models)
    .map(totalsOfModel)
    .reduce(sum, { ...NOTHING, costUsd })
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

function merge(a: Totals, b: Totals, by: (one: number, other: number) => number): Totals {
  return {
    inputTokens: by(a.inputTokens, b.inputTokens),
    outputTokens: by(a.outputTokens, b.outputTokens),
    cacheReadTokens: by(a.cacheReadTokens, b.cacheReadTokens),
    cacheWriteTokens: by(a.cacheWriteTokens, b.cacheWriteTokens),
    costUsd: by(a.costUsd, b.costUsd),
  }
}

function sum(a: Totals, b: Totals): Totals {
  return merge(a, b, (one, other) => one + other)
}

/** Never below zero: totals that shrink mean that the vendor started counting anew. */
function subtract(whole: Totals, part: Totals): Totals {
  return merge(whole, part, (all, one) => Math.max(0, all - one))
}
