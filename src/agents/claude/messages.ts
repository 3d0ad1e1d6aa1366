import * as z from 'zod'

/**
 * The parts of the vendor's messages that we read. Fields that only describe fall back to something harmless, because a
 * message that is rejected for a detail could be the one that ends the turn.
 */
const Block = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  thinking: z.string().optional(),
  id: z.string().optional(),
  name: z.string().optional(),
  input: z.record(z.string(), z.unknown()).optional().catch(undefined),
  tool_use_id: z.string().optional(),
  content: z.unknown().optional(),
  is_error: z.boolean().nullish(),
})
export type Block = z.infer<typeof Block>

/** Code of an agent can write such messages: what no answer has counts as nothing, and nothing is given back. */
const MOST_TOKENS = 1e12
const tokens = z.number().min(0).max(MOST_TOKENS)
const cost = z.number().min(0).max(1e6)
const count = tokens.nullish().catch(0)
const Usage = z.looseObject({
  input_tokens: count,
  output_tokens: count,
  cache_read_input_tokens: count,
  cache_creation_input_tokens: count,
})
export type Usage = z.infer<typeof Usage>

const byAgent = {
  parent_tool_use_id: z.string().nullish(),
  agent_id: z.string().optional(),
}

const window = z.looseObject({
  utilization: z.number().optional(),
  resetsAt: z.number().optional(),
  status: z.string().optional(),
})
const RateLimitInfo = z.looseObject({
  status: z.enum(['allowed', 'allowed_warning', 'rejected']),
  rateLimitType: z.string().optional().catch(undefined),
  resetsAt: z.number().optional().catch(undefined),
  utilization: z.number().optional().catch(undefined),
  unifiedWindows: z.record(z.string(), window).optional().catch(undefined),
})

const Assistant = z.looseObject({
  type: z.literal('assistant'),
  message: z.looseObject({
    id: z.string().catch(''),
    model: z.string().catch(''),
    content: z.array(Block),
    usage: Usage.optional().catch(undefined),
  }),
  error: z.string().optional().catch(undefined),
  timestamp: z.string().optional().catch(undefined),
  api_error_params: z.looseObject({ rate_limit_info: RateLimitInfo.optional() }).optional().catch(undefined),
  ...byAgent,
})
export type Assistant = z.infer<typeof Assistant>

/** The model name of messages that Claude Code itself writes in the model's place. */
export const SYNTHETIC = '<synthetic>'

/**
 * The error that Claude Code reports in the model's place. The name of the model alone is no proof, because whatever serves
 * the API may call itself anything. `error` is outside of the message, where only Claude Code writes.
 */
export function findApiError({ message, error }: Assistant): string | undefined {
  return message.model === SYNTHETIC ? error : undefined
}

const User = z.looseObject({
  type: z.literal('user'),
  message: z.looseObject({ content: z.union([z.string(), z.array(Block)]) }),
  tool_use_result: z.unknown().optional(),
  ...byAgent,
})
export type User = z.infer<typeof User>

const ModelUsage = z.looseObject({
  inputTokens: tokens.catch(0),
  outputTokens: tokens.catch(0),
  cacheReadInputTokens: tokens.catch(0),
  cacheCreationInputTokens: tokens.catch(0),
  contextWindow: z.number().optional().catch(undefined),
})

const PastSpending = z.looseObject({
  total_cost_usd: cost,
  model_usage: z.record(z.string(), ModelUsage),
})

/** What a resumed conversation had spent before; undefined if the vendor changes the format one day. */
export function readPastSpending(raw: unknown): Pick<Result, 'modelUsage' | 'total_cost_usd'> | undefined {
  const past = PastSpending.safeParse(raw).data
  return past && { modelUsage: past.model_usage, total_cost_usd: past.total_cost_usd }
}

const Result = z.looseObject({
  type: z.literal('result'),
  subtype: z.string(),
  is_error: z.boolean(),
  terminal_reason: z.string().nullish(),
  stop_reason: z.string().nullish(),
  result: z.string().optional().catch(undefined),
  errors: z.array(z.string()).optional().catch(undefined),
  num_turns: z.number().catch(0),
  duration_ms: z.number().catch(0),
  total_cost_usd: cost.catch(0),
  modelUsage: z.record(z.string(), ModelUsage).catch({}),
  permission_denials: z.array(z.unknown()).catch([]),
  api_error_status: z.number().nullish().catch(undefined),
  api_error: z.string().nullish().catch(undefined),
  startup_failure_reason: z.string().optional(),
  deferred_tool_use: z.looseObject({ id: z.string(), name: z.string() }).optional().catch(undefined),
})
export type Result = z.infer<typeof Result>

const Init = z.looseObject({
  type: z.literal('system'),
  subtype: z.literal('init'),
  session_id: z.string(),
  model: z.string().catch(''),
  cwd: z.string().catch(''),
  tools: z.array(z.string()).catch([]),
  claude_code_version: z.string().optional().catch(undefined),
})

const System = z.discriminatedUnion('subtype', [
  Init,
  z.looseObject({
    type: z.literal('system'),
    subtype: z.literal('api_retry'),
    attempt: z.number().catch(0),
    max_retries: z.number().catch(0),
    retry_delay_ms: z.number().catch(0),
    error_status: z.number().nullish().catch(undefined),
    error: z.string().catch('unknown'),
  }),
  z.looseObject({
    type: z.literal('system'),
    subtype: z.literal('status'),
    status: z.string().nullish(),
    compact_result: z.string().optional(),
  }),
  z.looseObject({ type: z.literal('system'), subtype: z.literal('compact_boundary') }),
  z.looseObject({ type: z.literal('system'), subtype: z.literal('session_state_changed'), state: z.string() }),
])
export type System = z.infer<typeof System>

const RateLimit = z.looseObject({ type: z.literal('rate_limit_event'), rate_limit_info: RateLimitInfo })
export type RateLimit = z.infer<typeof RateLimit>

/** The vendor's times are seconds; a number that would be thousands of years away is milliseconds already. */
export function toMilliseconds(time: number): number {
  return time < 100_000_000_000 ? time * 1000 : time
}

const VendorMessage = z.union([Assistant, User, Result, System, RateLimit])
export type VendorMessage = z.infer<typeof VendorMessage>

/** A message that we know, or undefined: the vendor adds kinds with every version. */
export function readMessage(raw: unknown): VendorMessage | undefined {
  return VendorMessage.safeParse(raw).data
}
