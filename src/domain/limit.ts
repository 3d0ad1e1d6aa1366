/** What a person has to mend before an account can be used: the failure that reports it, and what the account needs then. */
export const FAULTS = {
  login: { failure: 'auth', needs: 'a login' },
  credit: { failure: 'billing', needs: 'credit' },
} as const
export type AccountFault = keyof typeof FAULTS
export const FAULT_NAMES = Object.keys(FAULTS) as [AccountFault, ...AccountFault[]]

/** The vendor's refusal to serve until a time, or, with `fault`, until a person has mended something. Only a record that the vendor wrote counts as a limit; times are milliseconds. */
export interface Limit {
  /** The exhausted window, as the vendor names it: `five_hour`, `seven_day` … */
  window?: string | undefined
  resetsAt?: number | undefined
  /** Where it was seen: a rate limit event, the result of the turn, the vendor's own message, or a refused try. */
  source: 'event' | 'result' | 'message' | 'retry'
  message: string
  fault?: AccountFault | undefined
}

/**
 * Whether an account may call the model. Each account has one row, so that the gate survives the daemon. A limit closes it
 * until a time, and a person holds it until they release it; the two are independent. The account `*` means every account.
 */
export interface AccountGate {
  account: string
  closed_until: number | null
  window: string | null
  /**
   * `record`: the vendor said until when. `probe`: nobody knows, so it is tried again at growing intervals. A fault: a person has to
   * mend it; it is tried again as well. A fault stays here until a call succeeds, also while the account is open for a try.
   */
  source: 'record' | 'probe' | AccountFault | null
  /** The cause; of a fault, the remedy is on the second line. */
  reason: string | null
  /** How often it closed without a known reset since the last successful call. */
  probes: number
  closed_at: number | null
  held: boolean
  held_by: string | null
  held_at: number | null
}

/** What a person has to mend before the account of this gate can be used; undefined if nothing. */
export function faultOf({ source }: Pick<AccountGate, 'source'>): AccountFault | undefined {
  return FAULT_NAMES.find(fault => fault === source)
}

/** How the reason of a session ends whose limit is over and that waits for the hours that a person agreed to. */
export const GOES_ON_IN_HOURS = 'it goes on in the hours of sessions.resume_hours'

/** The account that means all accounts. */
export const EVERY_ACCOUNT = '*'
