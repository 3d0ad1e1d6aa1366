import * as z from 'zod'

const UNITS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }
const RELATIVE = /^\+(\d+(?:\.\d+)?)(ms|s|m|h|d)$/

/** A point in time as a scenario writes it: `+90s` (from `now`), an ISO date, or seconds since the epoch. */
export type ScenarioTime = string | number

/** The time in milliseconds since the epoch, or undefined when it is not a valid time. */
export function scenarioTimeMs(moment: ScenarioTime, now: number): number | undefined {
  if (typeof moment === 'number') return moment * 1000
  const relative = RELATIVE.exec(moment)
  if (relative) return now + Number(relative[1]) * (UNITS[relative[2] ?? ''] ?? 0)
  const absolute = /^\d{4}-\d\d-\d\d/.test(moment) ? Date.parse(moment) : Number.NaN
  return Number.isNaN(absolute) ? undefined : absolute
}

export const ScenarioTimeSchema = z
  .union([z.string(), z.number().min(0)], 'is not a time: write +90s, an ISO date or seconds since the epoch')
  .refine(
    moment => scenarioTimeMs(moment, 0) !== undefined,
    'is not a time: write +90s, an ISO date or seconds since the epoch',
  )

/** When a fault stops: at a time, once a file exists, or after a number of times (the only one that needs a counter). */
const ending = {
  until: ScenarioTimeSchema.optional(),
  until_file: z.string().min(1).optional(),
  times: z.number().int().min(1).optional(),
}
const message = z.string().min(1).max(10_000).optional()
const retry_after = z.number().int().min(0).optional()
const after = z.number().int().min(0).max(10_000).default(2)

const plain = <Kind extends string>(kind: Kind) => z.strictObject({ kind: z.literal(kind), message, ...ending })
const retried = <Kind extends string>(kind: Kind) =>
  z.strictObject({ kind: z.literal(kind), message, retry_after, ...ending })
/** `after` counts the events that still arrive complete. */
const broken = <Kind extends string>(kind: Kind) => z.strictObject({ kind: z.literal(kind), after, ...ending })

const faults = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('limit'),
    window: z.string().min(1).default('five_hour'),
    resets: ScenarioTimeSchema.optional(),
    message,
    ...ending,
  }),
  retried('rate_limit'),
  retried('overloaded'),
  retried('server_error'),
  plain('unauthorized'),
  plain('forbidden'),
  plain('model_not_found'),
  plain('credit_too_low'),
  plain('prompt_too_long'),
  z.strictObject({
    kind: z.literal('http'),
    status: z.number().int().min(400).max(599),
    type: z.string().min(1).default('api_error'),
    message,
    headers: z.record(z.string(), z.string()).default({}),
    ...ending,
  }),
  z.strictObject({ kind: z.literal('refusal'), ...ending }),
  z.strictObject({ kind: z.literal('reset'), ...ending }),
  z.strictObject({ kind: z.literal('stall'), after: after.optional(), ...ending }),
  broken('cut_stream'),
  broken('malformed_event'),
  z.strictObject({
    kind: z.literal('error_event'),
    after,
    type: z.string().default('overloaded_error'),
    message,
    ...ending,
  }),
])

/** The names of all faults. */
export const FAULT_KINDS: string[] = faults.options.map(option => option.shape.kind.value)

/** What goes wrong instead of an answer. A bare word is a fault without options: `fault: overloaded`. */
export const Fault = z.preprocess(given => (typeof given === 'string' ? { kind: given } : given), faults)
export type Fault = z.infer<typeof Fault>
