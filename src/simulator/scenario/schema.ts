import * as z from 'zod'
import { Fault } from './fault-schema.ts'
import { Moment } from './moment-schema.ts'
import { ToolCall } from './tool-call-schema.ts'

const Text = z.string().max(1_000_000)

const Pattern = z.string().superRefine((source, ctx) => {
  try {
    new RegExp(source)
  } catch (error) {
    ctx.addIssue({ code: 'custom', message: `is not a regular expression: ${(error as Error).message}` })
  }
})

/** Which conversation is meant: every key given must hold. A bare string means `contains`. */
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

/** What must hold in the request for a turn to be taken; every key given must hold. Also the shape of `expect`. */
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
  resets: Moment.default('+5h'),
  status: z.enum(['allowed', 'allowed_warning', 'rejected']).default('allowed'),
  surpassed_threshold: z.number().min(0).max(1).optional(),
})

/** The subscription's state, told in the headers of every answer. */
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
export interface Turn {
  when?: Condition | undefined
  expect?: Condition | undefined
  text?: string | undefined
  thinking?: string | undefined
  tools?: ToolCall[] | undefined
  stop_reason?: string | undefined
  fault?: Fault | undefined
  usage?: z.infer<typeof Usage> | undefined
  latency?: z.infer<typeof Latency> | undefined
  rate_limits?: RateLimits | undefined
  headers?: Record<string, string> | undefined
  repeat?: number | undefined
  either?: Turn[] | undefined
  turns?: Turn[] | undefined
}
export const Turn: z.ZodType<Turn> = z
  .strictObject({
    when: Condition.optional(),
    expect: Condition.optional(),
    text: Text.optional(),
    thinking: Text.optional(),
    tools: z.array(ToolCall).min(1).max(100).optional(),
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
      return z.array(Turn).min(1).optional()
    },
    get turns() {
      return z.array(Turn).min(1).optional()
    },
  })
  .superRefine((turn, ctx) => {
    const nested = [turn.either && 'either', turn.turns && 'turns'].filter(Boolean)
    const own = saysSomething(turn) || turn.fault !== undefined
    if (nested.length === 0 && !own) {
      ctx.addIssue({
        code: 'custom',
        message: 'is empty: give text, thinking, tools, stop_reason, fault, either or turns',
      })
    }
    if (nested.length > 1 || (nested.length === 1 && own)) {
      ctx.addIssue({ code: 'custom', message: `holds ${nested.join(' and ')} beside an answer: choose one` })
    }
  })

/** Whether a turn has an answer of its own, as opposed to a bare fault or a choice. */
export function saysSomething(turn: Turn): boolean {
  return [turn.text, turn.thinking, turn.tools, turn.stop_reason].some(part => part !== undefined)
}

const Turns = z.array(Turn).min(1)

export const Conversation = z.strictObject({
  name: z.string().min(1).optional(),
  match: Match.optional(),
  turns: Turns,
  /** Later prompts of the same conversation that start a script of their own. */
  later: z.array(z.strictObject({ match: Match, turns: Turns })).optional(),
  /** The answer when the turns have run out. Without it that is an error. */
  otherwise: Turn.optional(),
})
export type Conversation = z.infer<typeof Conversation>

export const Scenario = z.strictObject({
  version: z.literal(1).default(1),
  description: z.string().optional(),
  defaults: z.strictObject(answering).default({}),
  conversations: z.array(Conversation).min(1),
})
export type Scenario = z.infer<typeof Scenario>
