import * as z from 'zod'
import { parseJson } from '../../base/json.ts'
import type { HookVendor } from '../../domain/hooks.ts'

/** What one answer of the model used, without what came from a cache. */
export interface RecordedUsage {
  /** Of the answer: a record may hold it several times. */
  id: string
  model?: string | undefined
  input_tokens: number
  output_tokens: number
}

/** More than any model takes at once: a record that says more was not written by the vendor, and would use up the estimate. */
const count = z.int().min(0).max(10_000_000).default(0)

/** How each vendor writes down what an answer used, in a line of its own record of a conversation. */
const FORMS: Record<HookVendor, z.ZodType<RecordedUsage>> = {
  claude: z
    .object({
      type: z.literal('assistant'),
      message: z.object({
        id: z.string(),
        model: z.string().optional(),
        usage: z.object({ input_tokens: count, output_tokens: count, cache_creation_input_tokens: count }),
      }),
    })
    .transform(({ message: { id, model, usage } }) => ({
      ...{ id, model, output_tokens: usage.output_tokens },
      input_tokens: usage.input_tokens + usage.cache_creation_input_tokens,
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
      ...{ id: response_id, output_tokens: usage.output_tokens },
      input_tokens: Math.max(0, usage.input_tokens - usage.cached_input_tokens),
    })),
  gemini: z
    .object({
      ...{ type: z.literal('gemini'), id: z.string(), model: z.string().optional() },
      tokens: z.object({ input: count, output: count, cached: count, thoughts: count }),
    })
    .transform(({ id, model, tokens }) => ({
      ...{ id, model, output_tokens: tokens.output + tokens.thoughts },
      input_tokens: Math.max(0, tokens.input - tokens.cached),
    })),
  copilot: z
    .object({
      ...{ type: z.literal('session.usage_record'), id: z.string() },
      data: z.object({
        usage: z.object({
          model: z.string().optional(),
          ...{ inputTokens: count, outputTokens: count, cacheReadTokens: count },
        }),
      }),
    })
    .transform(({ id, data: { usage } }) => ({
      ...{ id, model: usage.model, output_tokens: usage.outputTokens },
      input_tokens: Math.max(0, usage.inputTokens - usage.cacheReadTokens),
    })),
}

/** What the answers in these lines used, and the last model; undefined if there are none. */
export function sumUsage(vendor: HookVendor, lines: readonly string[]): Omit<RecordedUsage, 'id'> | undefined {
  const found = lines.flatMap(line => FORMS[vendor].safeParse(parseJson(line)).data ?? [])
  const answers = [...new Map(found.map(each => [each.id, each])).values()]
  if (answers.length === 0) return undefined
  const total = (key: 'input_tokens' | 'output_tokens') => answers.reduce((sum, each) => sum + each[key], 0)
  const model = answers.findLast(each => each.model !== undefined)?.model
  return { input_tokens: total('input_tokens'), output_tokens: total('output_tokens'), model }
}
