import * as z from 'zod'
import { parseJson } from '../../base/json.ts'
import type { HookVendor } from '../../domain/hooks.ts'

/** Tokens of an answer. */
interface UsedTokens {
  /** Without those that came from a cache or went into one. */
  input: number
  output: number
  cacheRead: number
  cacheWrite: number
}

/** What one answer of the model used. */
interface RecordedAnswer extends UsedTokens {
  /** The id of the answer, because a record may hold one answer several times. */
  id: string
  model?: string | undefined
  /** The tokens that the model takes at once, where the vendor says so. */
  window?: number | undefined
}

/** What a conversation used in some lines of its record. */
export interface RecordedUsage {
  /** The last model. */
  model?: string | undefined
  /** Without what came from a cache. */
  input_tokens: number
  output_tokens: number
  /** By list prices; undefined if the price of one of the models is not known. */
  cost_usd?: number | undefined
  /** The cost of the whole conversation so far, if the vendor wrote it down. */
  total_cost_usd?: number | undefined
}

/** More than any model takes at once: a record that says more was not written by the vendor, and would use up the estimate. */
const count = z.int().min(0).max(10_000_000).default(0)

/** How each vendor writes down what an answer used, in a line of its own record of a conversation. */
const FORMS: Record<HookVendor, z.ZodType<RecordedAnswer>> = {
  claude: z
    .object({
      type: z.literal('assistant'),
      message: z.object({
        id: z.string(),
        model: z.string().optional(),
        usage: z.object({
          ...{ input_tokens: count, output_tokens: count },
          ...{ cache_creation_input_tokens: count, cache_read_input_tokens: count },
        }),
      }),
    })
    .transform(({ message: { id, model, usage } }) => ({
      ...{ id, model, input: usage.input_tokens, output: usage.output_tokens },
      ...{ cacheRead: usage.cache_read_input_tokens, cacheWrite: usage.cache_creation_input_tokens },
    })),
  codex: z
    .object({
      type: z.literal('token_usage_record'),
      payload: z.object({
        response_id: z.string(),
        usage: z.object({ input_tokens: count, cached_input_tokens: count, output_tokens: count }),
      }),
    })
    .transform(({ payload: { response_id, usage } }) => ({
      ...{ id: response_id, output: usage.output_tokens },
      ...splitInput(usage.input_tokens, usage.cached_input_tokens),
    })),
  gemini: z
    .object({
      ...{ type: z.literal('gemini'), id: z.string(), model: z.string().optional() },
      tokens: z.object({ input: count, output: count, cached: count, thoughts: count }),
    })
    .transform(({ id, model, tokens }) => ({
      ...{ id, model, output: tokens.output + tokens.thoughts },
      ...splitInput(tokens.input, tokens.cached),
    })),
  copilot: z
    .object({
      ...{ type: z.literal('session.usage_record'), id: z.string() },
      data: z.object({
        usage: z.object({
          model: z.string().optional(),
          ...{ inputTokens: count, outputTokens: count, cacheReadTokens: count, maxPromptTokens: count },
        }),
      }),
    })
    .transform(({ id, data: { usage } }) => ({
      ...{ id, model: usage.model, output: usage.outputTokens, window: usage.maxPromptTokens || undefined },
      ...splitInput(usage.inputTokens, usage.cacheReadTokens),
    })),
}

/** Most vendors count what came from a cache as a part of the input. */
function splitInput(all: number, cached: number): Omit<UsedTokens, 'output'> {
  return { input: Math.max(0, all - cached), cacheRead: Math.min(all, cached), cacheWrite: 0 }
}

/** Claude Code writes down the cost of the whole conversation when it ends. Other vendors write none. */
const CostState = z.object({
  type: z.literal('cost-state'),
  totalCostUSD: z.number().min(0).max(100_000),
  hasUnknownModelCost: z.literal(false),
})

/** What the answers in these lines used; undefined if there are none. `model` is the one of answers that name none. */
export function sumUsage(vendor: HookVendor, lines: readonly string[], model?: string): RecordedUsage | undefined {
  const records = lines.map(line => parseJson(line))
  const found = records.flatMap(record => FORMS[vendor].safeParse(record).data ?? [])
  const answers = [...new Map(found.map(each => [each.id, { ...each, model: each.model ?? model }])).values()]
  const total = vendor === 'claude' ? records.findLast(record => CostState.safeParse(record).success) : undefined
  if (answers.length === 0 && total === undefined) return undefined
  const costs = answers.map(each => estimateCost(each.model, each))
  return {
    model: answers.findLast(each => each.model !== undefined)?.model,
    input_tokens: answers.reduce((sum, { input, cacheWrite }) => sum + input + cacheWrite, 0),
    output_tokens: answers.reduce((sum, { output }) => sum + output, 0),
    cost_usd: costs.reduce((sum, cost) => (sum === undefined || cost === undefined ? undefined : sum + cost), 0),
    total_cost_usd: CostState.safeParse(total).data?.totalCostUSD,
  }
}

/** Codex says beside each answer how much its model takes at once. */
const CodexWindow = z.object({
  payload: z.object({ type: z.literal('token_count'), info: z.object({ model_context_window: z.int().min(1) }) }),
})

/**
 * How full the context of a conversation is, as a share of what its model takes at once, by the last answer in these lines; undefined if
 * there is none. Claude Code writes down no size: its models take 200,000 tokens, and a million where more are there already. The models of
 * Gemini CLI take a million.
 */
export function contextFill(vendor: HookVendor, lines: readonly string[]): number | undefined {
  const records = lines.map(line => parseJson(line))
  const last = records.flatMap(record => FORMS[vendor].safeParse(record).data ?? []).at(-1)
  if (!last) return undefined
  const tokens = last.input + last.cacheRead + last.cacheWrite + last.output
  const said = records.flatMap(record => CodexWindow.safeParse(record).data?.payload.info.model_context_window ?? [])
  const usual = vendor === 'claude' && tokens <= 200_000 ? 200_000 : 1_000_000
  return tokens / (last.window ?? said.at(-1) ?? usual)
}

/** Copilot CLI tells no hook the words of its agent, but writes them down. Those of a subagent name the call that started it. */
const CopilotWords = z.object({
  type: z.literal('assistant.message'),
  data: z.object({ content: z.string(), parentToolCallId: z.undefined().optional() }),
})

/** The last words of the agent in these lines, for a vendor that does not send them; empty if there are none. */
export function lastWords(vendor: HookVendor, lines: readonly string[]): string {
  if (vendor !== 'copilot') return ''
  return lines.flatMap(line => CopilotWords.safeParse(parseJson(line)).data?.data.content ?? []).at(-1) ?? ''
}

/** `claude-haiku-4-5-20251001`, `claude-opus-4-5@20251101`, `gpt-5-2025-08-07`. */
const DATED = '[-@]\\d{8}|-\\d{4}-\\d\\d-\\d\\d|-latest'

/**
 * List prices in US dollars for a million tokens, input and output, in the autumn of 2026: those of Claude as Claude Code 2.1.325 itself counts
 * them (an end-to-end test compares), the others as their vendors published them. Each row names its models whole, so that a later version has no
 * price until it gets a row: a wrong number would be worse than none. Dates after a name need no row.
 */
export const PRICES: readonly (readonly [model: RegExp, input: number, output: number])[] = (
  [
    ['claude-opus-5[.-]5', 4, 20],
    ['claude-opus-(4[.-][5-8]|5)', 5, 25],
    ['claude-sonnet-5([.-]5)?', 2, 10],
    ['claude-sonnet-4([.-][056])?', 3, 15],
    ['claude-haiku-5[.-]5', 0.1, 0.5],
    ['claude-haiku-4[.-]5', 1, 5],
    ['claude-fable-5[.-]2', 8, 40],
    ['gpt-5\\.5', 5, 30],
    ['gpt-5\\.4', 2.5, 15],
    ['gpt-5\\.[23](-codex)?', 1.75, 14],
    ['gpt-5(\\.1)?(-codex)?', 1.25, 10],
    ['gpt-5-mini', 0.25, 2],
    ['gemini-3(\\.1)?-pro(-(preview|exp|\\d)[\\w-]*)?', 2, 12],
    ['gemini-3-flash(-(preview|exp|\\d)[\\w-]*)?', 0.5, 3],
    ['gemini-2\\.5-pro(-(preview|exp|\\d)[\\w-]*)?', 1.25, 10],
    ['gemini-2\\.5-flash', 0.3, 2.5],
  ] as const
).map(([model, ...price]) => [new RegExp(`^(${model})(${DATED})?(\\[1m\\])?$`), ...price])
/** What a token from a cache costs of a usual one, at each of these vendors; and what it costs to put one there. */
const CACHE_READ = 0.1
const CACHE_WRITE = 1.25

/** The list price of a million tokens; undefined if the model is not known. */
export function listPrice(model: string | null | undefined): { input: number; output: number } | undefined {
  const [, input, output] = PRICES.find(([name]) => model != null && name.test(model)) ?? []
  return input === undefined || output === undefined ? undefined : { input, output }
}

/** What an answer costs by the vendor's list price; undefined if the model is not known. Longer prompts and other tiers may cost more. */
export function estimateCost(model: string | undefined, used: UsedTokens): number | undefined {
  const price = listPrice(model)
  if (!price) return undefined
  const { input, output } = price
  const paid = used.input + used.cacheRead * CACHE_READ + used.cacheWrite * CACHE_WRITE
  return (paid * input + used.output * output) / 1_000_000
}
