import * as z from 'zod'
import { isObject } from '../base/json.ts'
import { Fault, ScenarioTimeSchema } from './faults.ts'

const Pattern = z.string().superRefine((source, ctx) => {
  try {
    new RegExp(source)
  } catch (error) {
    ctx.addIssue({ code: 'custom', message: `is not a regular expression: ${(error as Error).message}` })
  }
})

/** Which conversation is meant: all given keys must hold. A bare string means `contains`. */
export const Match = z.preprocess(
  given => (typeof given === 'string' ? { contains: given } : given),
  z.strictObject({
    contains: z.string().min(1).optional(),
    regex: Pattern.optional(),
    system_contains: z.string().min(1).optional(),
    model: z.string().min(1).optional(),
  }),
)
export type Match = z.infer<typeof Match>

/** What must hold in the request for a turn to be taken; all given keys must hold. Also the shape of `expect`. */
export interface Condition {
  prompt_contains?: string | undefined
  prompt_regex?: string | undefined
  tool_result_contains?: string | undefined
  tool_result_regex?: string | undefined
  tool_failed?: boolean | undefined
  note_contains?: string | undefined
  system_contains?: string | undefined
  offers_tool?: string | undefined
  history_contains?: string | undefined
  not?: Condition | undefined
}
export const Condition: z.ZodType<Condition> = z.strictObject({
  prompt_contains: z.string().min(1).optional(),
  prompt_regex: Pattern.optional(),
  tool_result_contains: z.string().min(1).optional(),
  tool_result_regex: Pattern.optional(),
  tool_failed: z.boolean().optional(),
  note_contains: z.string().min(1).optional(),
  system_contains: z.string().min(1).optional(),
  offers_tool: z.string().min(1).optional(),
  history_contains: z.string().min(1).optional(),
  get not() {
    return Condition.optional()
  },
})

/** A `*` matches anything in the name of a tool that the agent offers. */
const NAME = /^[A-Za-z0-9_*-]{1,128}$/

/** One tool call, written `Read: { file_path: … }` or `{ name: Read, input: { … } }`. */
export interface ScriptedToolCall {
  name: string
  input: Record<string, unknown>
}
export const ScriptedToolCall = z.unknown().transform((given, ctx): ScriptedToolCall => {
  const refuse = (message: string) => {
    ctx.addIssue({ code: 'custom', message })
    return z.NEVER
  }
  if (!isObject(given)) return refuse('is not a tool call: write Read: { file_path: … }')
  const named = 'name' in given && Object.keys(given).every(key => key === 'name' || key === 'input')
  const [name, input] = named ? [given['name'], given['input'] ?? {}] : (Object.entries(given)[0] ?? [])
  if (!named && Object.keys(given).length !== 1) {
    return refuse(`holds ${Object.keys(given).length} keys: one tool call has one name; start another with "-"`)
  }
  if (typeof name !== 'string' || !NAME.test(name)) return refuse(`"${String(name)}" is not a tool name`)
  if (!isObject(input ?? {})) return refuse(`the input of ${name} is not a map of keys and values`)
  return { name, input: (input ?? {}) as Record<string, unknown> }
})

/** The name of a tool on one wire, and its input there: `{{input.key}}` stands for the scenario's own input. */
const ToolOnWire = z.preprocess(
  given => (typeof given === 'string' ? { name: given } : given),
  z.strictObject({ name: z.string().min(1).max(128), input: z.record(z.string(), z.unknown()).optional() }),
)

/** A scenario's tools with their names for other agents; a tool that is not listed keeps the scenario's name. */
export const ToolNames = z.record(
  z.string(),
  z.strictObject({ anthropic: ToolOnWire.optional(), gemini: ToolOnWire.optional(), responses: ToolOnWire.optional() }),
)
export type ToolNames = z.infer<typeof ToolNames>

const Text = z.string().min(1).max(1_000_000)

const tokens = z.number().int().min(0).optional()
export const Usage = z.strictObject({
  input_tokens: tokens,
  output_tokens: tokens,
  cache_read_input_tokens: tokens,
  cache_creation_input_tokens: tokens,
})

const delay = z.number().int().min(0).max(3_600_000)
export const Latency = z.preprocess(
  given => (typeof given === 'number' ? { first_ms: given } : given),
  z.strictObject({ first_ms: delay.default(0), delta_ms: delay.default(0) }),
)

const Window = z.strictObject({
  utilization: z.number().min(0).max(10),
  resets: ScenarioTimeSchema.default('+5h'),
  status: z.enum(['allowed', 'allowed_warning', 'rejected']).default('allowed'),
  surpassed_threshold: z.number().min(0).max(1).optional(),
})

/** The subscription's state, sent in the headers of every answer. */
export const RateLimits = z.strictObject({
  status: z.enum(['allowed', 'allowed_warning', 'rejected']).default('allowed'),
  representative_claim: z.string().min(1).default('five_hour'),
  five_hour: Window.optional(),
  seven_day: Window.optional(),
})
export type RateLimits = z.infer<typeof RateLimits>

const answering = {
  usage: Usage.optional(),
  latency: Latency.optional(),
  rate_limits: RateLimits.optional(),
  headers: z.record(z.string().regex(/^[A-Za-z0-9-]+$/), z.string().regex(/^[\x20-\x7e]*$/)).optional(),
}

/** One step of a conversation: an answer of the model, a fault, or a choice between branches. */
export interface ScriptedTurn {
  when?: Condition | undefined
  expect?: Condition | undefined
  text?: string | undefined
  thinking?: string | undefined
  tools?: ScriptedToolCall[] | undefined
  stop_reason?: string | undefined
  fault?: Fault | undefined
  usage?: z.infer<typeof Usage> | undefined
  latency?: z.infer<typeof Latency> | undefined
  rate_limits?: RateLimits | undefined
  headers?: Record<string, string> | undefined
  repeat?: number | undefined
  either?: ScriptedTurn[] | undefined
  turns?: ScriptedTurn[] | undefined
}
export const ScriptedTurn: z.ZodType<ScriptedTurn> = z
  .strictObject({
    when: Condition.optional(),
    expect: Condition.optional(),
    text: Text.optional(),
    thinking: Text.optional(),
    tools: z.array(ScriptedToolCall).min(1).max(100).optional(),
    stop_reason: z
      .enum([
        'end_turn',
        'tool_use',
        'max_tokens',
        'stop_sequence',
        'refusal',
        'pause_turn',
        'model_context_window_exceeded',
      ])
      .optional(),
    fault: Fault.optional(),
    ...answering,
    repeat: z.number().int().min(1).max(100_000).optional(),
    get either() {
      return z.array(ScriptedTurn).min(1).optional()
    },
    get turns() {
      return Turns.optional()
    },
  })
  .superRefine((turn, ctx) => {
    const nested = [turn.either && 'either', turn.turns && 'turns'].filter(Boolean)
    const own = hasAnswer(turn) || turn.fault !== undefined
    if (turn.thinking !== undefined && !hasAnswer(turn)) {
      // The agent drops an answer that only thinks, so the next request would not contain it.
      ctx.addIssue({ code: 'custom', path: ['thinking'], message: 'stands alone: add text or tools' })
    } else if (nested.length === 0 && !own) {
      ctx.addIssue({ code: 'custom', message: 'is empty: give text, tools, fault, either or turns' })
    }
    if (nested.length > 1 || (nested.length === 1 && own)) {
      ctx.addIssue({ code: 'custom', message: `holds ${nested.join(' and ')} beside an answer: choose one` })
    }
    if (hasAnswer(turn) && isForEver({ fault: turn.fault }))
      ctx.addIssue({ code: 'custom', path: ['fault'], message: FOR_EVER })
  })

/** Whether a turn has an answer that the next request will contain, as opposed to a bare fault or a choice. */
export function hasAnswer(turn: ScriptedTurn): boolean {
  return turn.text !== undefined || turn.tools !== undefined
}

const FOR_EVER = 'never ends, so what follows is never reached: give it until, until_file, times or a when'

function isForEver({ fault, when }: Pick<ScriptedTurn, 'fault' | 'when'>): boolean {
  if (!fault || when) return false
  return fault.until === undefined && fault.until_file === undefined && fault.times === undefined
}

const Turns = z
  .array(ScriptedTurn)
  .min(1)
  .superRefine((turns, ctx) => {
    const at = turns.slice(0, -1).findIndex(isForEver)
    if (at >= 0) ctx.addIssue({ code: 'custom', path: [at, 'fault'], message: FOR_EVER })
  })

export const ScriptedConversation = z.strictObject({
  name: z.string().min(1).optional(),
  match: Match.optional(),
  turns: Turns,
  /** Later prompts of the same conversation that start a script of their own. */
  later: z.array(z.strictObject({ match: Match, turns: Turns })).optional(),
  /** The answer when the turns have run out; without it that is an error. */
  otherwise: ScriptedTurn.optional(),
})
export type ScriptedConversation = z.infer<typeof ScriptedConversation>

export const Scenario = z.strictObject({
  version: z.literal(1).default(1),
  description: z.string().optional(),
  defaults: z.strictObject(answering).default({}),
  tools: ToolNames.optional(),
  conversations: z.array(ScriptedConversation).min(1),
})
export type Scenario = z.infer<typeof Scenario>
