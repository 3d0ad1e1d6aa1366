import * as z from 'zod'
import { Condition, Match } from './condition-schema.ts'
import { Fault } from './fault-schema.ts'
import { Moment } from './moment-schema.ts'
import { ToolCall } from './tool-call-schema.ts'
import { ToolNames } from './tool-names-schema.ts'

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
      return Turns.optional()
    },
  })
  .superRefine((turn, ctx) => {
    const nested = [turn.either && 'either', turn.turns && 'turns'].filter(Boolean)
    const own = saysSomething(turn) || turn.fault !== undefined
    if (turn.thinking !== undefined && !saysSomething(turn)) {
      // The agent drops an answer that only thinks, so the next request would not show that it was given.
      ctx.addIssue({ code: 'custom', path: ['thinking'], message: 'stands alone: add text or tools' })
    } else if (nested.length === 0 && !own) {
      ctx.addIssue({ code: 'custom', message: 'is empty: give text, tools, fault, either or turns' })
    }
    if (nested.length > 1 || (nested.length === 1 && own)) {
      ctx.addIssue({ code: 'custom', message: `holds ${nested.join(' and ')} beside an answer: choose one` })
    }
    if (saysSomething(turn) && isForEver({ fault: turn.fault }))
      ctx.addIssue({ code: 'custom', path: ['fault'], message: FOR_EVER })
  })

/** Whether a turn gives an answer that the next request will show, as opposed to a bare fault or a choice. */
export function saysSomething(turn: Turn): boolean {
  return turn.text !== undefined || turn.tools !== undefined
}

const FOR_EVER = 'never ends, so what follows is never reached: give it until, until_file, times or a when'

function isForEver({ fault, when }: Pick<Turn, 'fault' | 'when'>): boolean {
  if (!fault || when) return false
  return fault.until === undefined && fault.until_file === undefined && fault.times === undefined
}

const Turns = z
  .array(Turn)
  .min(1)
  .superRefine((turns, ctx) => {
    const at = turns.slice(0, -1).findIndex(isForEver)
    if (at >= 0) ctx.addIssue({ code: 'custom', path: [at, 'fault'], message: FOR_EVER })
  })

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
  tools: ToolNames.optional(),
  conversations: z.array(Conversation).min(1),
})
export type Scenario = z.infer<typeof Scenario>
