import * as z from 'zod'

/** The vendor's refusal to go on until a time. Only a record that the vendor wrote makes one; times are milliseconds. */
export const Limit = z.object({
  /** The window that is used up, in the vendor's words: `five_hour`, `seven_day` … */
  window: z.string().optional(),
  resetsAt: z.number().optional(),
  /** What told it: a rate limit event, the result of the turn, the vendor's own message, or a try that was refused. */
  source: z.enum(['event', 'result', 'message', 'retry']),
  message: z.string(),
})
export type Limit = z.infer<typeof Limit>

/**
 * Whether an account may call the model: one row each, so that it survives the daemon. A limit closes it until a time; a
 * person holds it until they release it. The two know nothing of each other. The account `*` is every account.
 */
export interface AccountGate {
  account: string
  closed_until: number | null
  window: string | null
  /** `record`: the vendor said until when. `probe`: nobody knows, so it is tried again later and later. */
  source: 'record' | 'probe' | null
  reason: string | null
  /** Closings without a known reset since a call last got through. */
  probes: number
  closed_at: number | null
  held: boolean
  held_by: string | null
  held_at: number | null
}

/** The account that stands for all of them. */
export const EVERY_ACCOUNT = '*'
