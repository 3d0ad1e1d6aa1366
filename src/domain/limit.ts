import * as z from 'zod'

/** The vendor's refusal to serve until a time. Only a record written by the vendor counts as one; times are milliseconds. */
export const Limit = z.object({
  /** The exhausted window, as the vendor names it: `five_hour`, `seven_day` … */
  window: z.string().optional(),
  resetsAt: z.number().optional(),
  /** Where it was seen: a rate limit event, the result of the turn, the vendor's own message, or a refused try. */
  source: z.enum(['event', 'result', 'message', 'retry']),
  message: z.string(),
})
export type Limit = z.infer<typeof Limit>

/**
 * Whether an account may call the model. Each account has one row, so that the gate survives the daemon. A limit closes it
 * until a time, and a person holds it until they release it; the two are independent. The account `*` means every account.
 */
export interface AccountGate {
  account: string
  closed_until: number | null
  window: string | null
  /** `record`: the vendor said until when. `probe`: nobody knows, so it is tried again at growing intervals. */
  source: 'record' | 'probe' | null
  reason: string | null
  /** How often it closed without a known reset since the last successful call. */
  probes: number
  closed_at: number | null
  held: boolean
  held_by: string | null
  held_at: number | null
}

/** The account that means all accounts. */
export const EVERY_ACCOUNT = '*'
