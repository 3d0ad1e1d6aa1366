import { type Clock, MINUTE_MS } from '../../base/clock.ts'
import { type AccountGate, EVERY_ACCOUNT, faultOf, type Limit } from '../../domain/limit.ts'
import type { Store, Tx } from '../../store/store.ts'

/** Whether an account may call the model now. Without `until` only a person can open its gate. */
export type AccountAdmission =
  | { open: true }
  | { open: false; why: 'limit'; until: number; gate: AccountGate }
  | { open: false; why: 'held'; gate: AccountGate }

/** The gates of all accounts. Each call is a transaction of its own, or part of the given one. */
export interface AccountGates {
  of(account: string, tx?: Tx): Promise<AccountGate | undefined>
  list(): Promise<AccountGate[]>
  /** Checks the account's own gate and the one for every account. */
  admits(account: string, tx?: Tx): Promise<AccountAdmission>
  close(account: string, limit: Limit, tx?: Tx): Promise<AccountGate>
  /** A model call of the account succeeded. Writes nothing when there is nothing to open. */
  reopen(account: string, tx?: Tx): Promise<void>
  /** `*` holds every account. */
  hold(account: string, by: string, tx?: Tx): Promise<AccountGate>
  /** Releases a hold; a limit keeps the account closed until its time. */
  release(account: string, tx?: Tx): Promise<AccountGate>
  /** Opens a gate that a limit has closed, on a person's request; a hold stays. True when the gate was closed. */
  openForTrial(account: string, tx: Tx): Promise<boolean>
}

/** Opens the gates as rows of the store: changes survive a crash. */
export function openAccountGates({ store, clock, random = Math.random }: AccountGatesDeps): AccountGates {
  const change = (account: string, tx: Tx | undefined, next: (gate: AccountGate, now: number) => AccountGate) => {
    const work = async (own: Tx) => {
      const before = (await store.gates.get(account, own)) ?? createOpenGate(account)
      const now = clock.now()
      const after = next(before, now)
      if (after !== before) await store.gates.put(after, now, own)
      return after
    }
    return tx ? work(tx) : store.transaction(work)
  }
  return {
    of: (account, tx) => store.gates.get(account, tx),
    list: () => store.gates.list(),
    async admits(account, tx) {
      const every = await store.gates.get(EVERY_ACCOUNT, tx)
      return decideAdmission([every, await store.gates.get(account, tx)], clock.now())
    },
    close: (account, limit, tx) => change(account, tx, (gate, now) => closeGate(gate, limit, { now, random })),
    async reopen(account, tx) {
      const gate = await store.gates.get(account, tx)
      // Called at every answer of a model: most of the time there is nothing to write.
      if (gate && (gate.closed_until !== null || gate.probes > 0 || gate.source !== null))
        await change(account, tx, reopenGate)
    },
    hold: (account, by, tx) => change(account, tx, (gate, now) => holdGate(gate, by, now)),
    release: (account, tx) => change(account, tx, gate => releaseGate(gate)),
    async openForTrial(account, tx) {
      const gate = await store.gates.get(account, tx)
      if (!gate || !isClosedByLimit(gate, clock.now())) return false
      await change(account, tx, openGateForTrial)
      return true
    },
  }
}

export interface AccountGatesDeps {
  store: Pick<Store, 'gates' | 'transaction'>
  clock: Clock
  random?: () => number
}

/** Whether all the gates are open. A person's hold is reported before a limit: waiting for the limit would not open the gate. */
export function decideAdmission(gates: (AccountGate | undefined)[], now: number): AccountAdmission {
  const existing = gates.filter(gate => gate !== undefined)
  const held = existing.find(gate => gate.held)
  if (held) return { open: false, why: 'held', gate: held }
  const closed = existing.find(gate => isClosedByLimit(gate, now))
  return closed ? { open: false, why: 'limit', until: closed.closed_until ?? now, gate: closed } : { open: true }
}

/** The first wait after a limit without a known reset; each later one is twice as long. */
export const FIRST_PROBE_MS = MINUTE_MS
/**
 * The longest of these waits. A refused try costs nothing, but tries must not be frequent. Failover takes such a wait for the length of the limit:
 * with a `failover.after_minutes` that is as long as this, no task would change agents because of a limit without a reset.
 */
const LONGEST_PROBE_MS = 30 * MINUTE_MS
/** A fault may be mended at any time, and a single refused call may be a mistake of the vendor: 5 s, 15 s, 45 s … up to this. */
const LONGEST_FAULT_MS = 10 * MINUTE_MS
const FIRST_FAULT_MS = 5_000
/** So that the accounts of many machines do not try at the same moment. */
const PROBE_JITTER = 0.1
/** A monthly reset is believed, a time with a wrong unit is not: nothing would open a gate that is closed for a lifetime. */
const FARTHEST_RESET_MS = 10 * 365 * 24 * 60 * MINUTE_MS

/** Whether a limit, as opposed to a person, keeps the gate closed. */
function isClosedByLimit(gate: AccountGate, now: number): boolean {
  if (gate.closed_until === null || gate.closed_until <= now) return false
  // The clock was set back: a wait that was counted from a moment in the future means nothing any more.
  const isFromTheFuture = gate.closed_at !== null && gate.closed_at > now
  return !(gate.source !== 'record' && isFromTheFuture)
}

/** The gate after a limit. A later reset wins over an earlier one, and a known reset wins over a guessed one. */
export function closeGate(gate: AccountGate, limit: Limit, { now, random }: GateClosing): AccountGate {
  const isStillClosed = isClosedByLimit(gate, now)
  const reset = plausibleReset(limit, now)
  const cause = { window: limit.window ?? null, reason: limit.message, closed_at: now }
  if (reset !== undefined) {
    const until = gate.closed_until ?? 0
    const isKnownLonger = isStillClosed && gate.source === 'record' && until >= reset
    return isKnownLonger ? gate : { ...gate, ...cause, closed_until: reset, source: 'record', probes: 0 }
  }
  const source = limit.fault ?? 'probe'
  // Several sessions are refused at once, each with a record of its own: that counts as one closing.
  if (isStillClosed) return limit.fault && gate.source === 'probe' ? { ...gate, ...cause, source } : gate
  // It waits since the first refusal: the tries in between have changed nothing.
  if (limit.fault && limit.fault === gate.source) cause.closed_at = gate.closed_at ?? now
  const until = now + Math.round(probeWait(gate, limit) * (1 + PROBE_JITTER * random()))
  return { ...gate, ...cause, closed_until: until, source, probes: gate.probes + 1 }
}

function probeWait({ probes }: AccountGate, { fault }: Limit): number {
  const tries = Math.min(probes, 20)
  if (fault) return Math.min(FIRST_FAULT_MS * 3 ** tries, LONGEST_FAULT_MS)
  return Math.min(FIRST_PROBE_MS * 2 ** tries, LONGEST_PROBE_MS)
}

export interface GateClosing {
  now: number
  /** From 0 to 1. */
  random(): number
}

/**
 * The gate after a model call succeeded. An answer that arrives while the gate is closed was requested before it closed, so it
 * opens nothing.
 */
export function reopenGate(gate: AccountGate, now: number): AccountGate {
  if (isClosedByLimit(gate, now)) return gate
  return { ...createOpenGate(gate.account), held: gate.held, held_by: gate.held_by, held_at: gate.held_at }
}

/**
 * The gate after a person has asked to try now, whatever the limit said. No call has succeeded yet, so the count of probes
 * stays: the wait after one more refusal without a reset is longer than the last.
 */
export function openGateForTrial(gate: AccountGate, now: number): AccountGate {
  if (!isClosedByLimit(gate, now)) return gate
  const open = { ...gate, closed_until: null, window: null }
  // Whether a fault is mended is known only when a call has succeeded.
  return faultOf(gate) ? open : { ...open, source: null, reason: null, closed_at: null }
}

/** The gate after a person has held it. */
export function holdGate(gate: AccountGate, by: string, now: number): AccountGate {
  return gate.held ? gate : { ...gate, held: true, held_by: by, held_at: now }
}

/** The gate after a person has released it; a limit still closes it. */
export function releaseGate(gate: AccountGate): AccountGate {
  return { ...gate, held: false, held_by: null, held_at: null }
}

/** A gate that nothing keeps closed. */
export function createOpenGate(account: string): AccountGate {
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

function plausibleReset({ resetsAt }: Limit, now: number): number | undefined {
  if (resetsAt === undefined || !Number.isFinite(resetsAt)) return undefined
  return resetsAt > now && resetsAt - now <= FARTHEST_RESET_MS ? Math.round(resetsAt) : undefined
}
