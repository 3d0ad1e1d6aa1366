import type { Gate, Limit } from '../../domain/account/limit.ts'

const MINUTE_MS = 60_000
/** Without a known reset: one minute, two, four … A try that is refused costs nothing, but it must not become a habit. */
const LONGEST_PROBE_MS = 30 * MINUTE_MS
/** So that the accounts of many machines do not knock together. */
const PROBE_JITTER = 0.1
/** A monthly allowance is believed, a slip of units is not: nothing opens a gate that is shut for a lifetime. */
const FARTHEST_RESET_MS = 10 * 365 * 24 * 60 * MINUTE_MS

/** Whether no model call may be made through this gate now. */
export function isShut(gate: Gate | undefined, now: number): boolean {
  return gate !== undefined && (gate.held || isClosed(gate, now))
}

/** Whether a limit, as opposed to a person, keeps it shut. */
export function isClosed(gate: Gate, now: number): boolean {
  if (gate.closed_until === null || gate.closed_until <= now) return false
  // The clock was set back: a wait that was counted from a moment that is yet to come means nothing any more.
  const isFromTheFuture = gate.closed_at !== null && gate.closed_at > now
  return !(gate.source === 'probe' && isFromTheFuture)
}

/** The gate after a limit. A later reset wins over an earlier one, and what is known wins over what is guessed. */
export function closedBy(gate: Gate, limit: Limit, { now, random }: Closing): Gate {
  const isStillClosed = isClosed(gate, now)
  const believed = believedReset(limit, now)
  const told = { window: limit.window ?? null, reason: limit.message, closed_at: now }
  if (believed !== undefined) {
    const until = gate.closed_until ?? 0
    const isKnownLonger = isStillClosed && gate.source === 'record' && until >= believed
    return isKnownLonger ? gate : { ...gate, ...told, closed_until: believed, source: 'record', probes: 0 }
  }
  // Several sessions are refused at once, each with a record of its own: that is one closing.
  if (isStillClosed) return gate
  const waitMs = Math.min(MINUTE_MS * 2 ** Math.min(gate.probes, 20), LONGEST_PROBE_MS)
  const until = now + Math.round(waitMs * (1 + PROBE_JITTER * random()))
  return { ...gate, ...told, closed_until: until, source: 'probe', probes: gate.probes + 1 }
}

export interface Closing {
  now: number
  /** From 0 to 1. */
  random(): number
}

/**
 * The gate after a model call got through. An answer that arrives while it is closed was asked for before it closed, so it
 * opens nothing.
 */
export function reopened(gate: Gate, now: number): Gate {
  if (isClosed(gate, now)) return gate
  return { ...openGate(gate.account), held: gate.held, held_by: gate.held_by, held_at: gate.held_at }
}

/**
 * The gate once a person wants it tried now, whatever the limit said. Nobody has got through yet, so the count of probes
 * stays: one more refusal without a reset waits longer than the last.
 */
export function openedForTrial(gate: Gate, now: number): Gate {
  if (!isClosed(gate, now)) return gate
  return { ...gate, closed_until: null, window: null, source: null, reason: null, closed_at: null }
}

/** The gate once a person holds it. */
export function heldBy(gate: Gate, by: string, now: number): Gate {
  return gate.held ? gate : { ...gate, held: true, held_by: by, held_at: now }
}

/** The gate once a person lets it go; a limit still closes it. */
export function released(gate: Gate): Gate {
  return { ...gate, held: false, held_by: null, held_at: null }
}

/** A gate that nothing keeps shut. */
export function openGate(account: string): Gate {
  return {
    account,
    closed_until: null,
    window: null,
    source: null,
    reason: null,
    probes: 0,
    closed_at: null,
    held: false,
    held_by: null,
    held_at: null,
  }
}

function believedReset({ resetsAt }: Limit, now: number): number | undefined {
  if (resetsAt === undefined || !Number.isFinite(resetsAt)) return undefined
  return resetsAt > now && resetsAt - now <= FARTHEST_RESET_MS ? Math.round(resetsAt) : undefined
}
