import type { Clock } from '../../base/clock.ts'
import { EVERY_ACCOUNT, type Gate, type Limit } from '../../domain/account/limit.ts'
import type { Store, Tx } from '../../store/store.ts'
import { closedBy, heldBy, isClosed, openedForTrial, openGate, released, reopened } from './gate.ts'

/** Whether an account may call the model now. Without `until` only a person can open it. */
export type Admission =
  | { open: true }
  | { open: false; why: 'limit'; until: number; gate: Gate }
  | { open: false; why: 'held'; gate: Gate }

/** The gates of all accounts. Each call is a transaction of its own, or part of the one it is given. */
export interface Gates {
  of(account: string, tx?: Tx): Promise<Gate | undefined>
  list(): Promise<Gate[]>
  /** Looks at the account's own gate and at the one for every account. */
  admits(account: string, tx?: Tx): Promise<Admission>
  close(account: string, limit: Limit, tx?: Tx): Promise<Gate>
  /** A model call of the account got through. Writes nothing where there is nothing to open. */
  reopen(account: string, tx?: Tx): Promise<void>
  /** `*` holds every account. */
  hold(account: string, by: string, tx?: Tx): Promise<Gate>
  /** Lets go of a hold; a limit goes on closing the account until its time. */
  release(account: string, tx?: Tx): Promise<Gate>
  /** Opens what a limit has closed, because a person says so; a hold stays. True where it was closed. */
  openForTrial(account: string, tx: Tx): Promise<boolean>
}

/** Opens the gates as rows of the store: what is written here holds after a crash. */
export function openGates({ store, clock, random = Math.random }: GateParts): Gates {
  const change = (account: string, tx: Tx | undefined, next: (gate: Gate, now: number) => Gate) => {
    const work = async (own: Tx) => {
      const before = (await store.gates.get(account, own)) ?? openGate(account)
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
      return admission([every, await store.gates.get(account, tx)], clock.now())
    },
    close: (account, limit, tx) => change(account, tx, (gate, now) => closedBy(gate, limit, { now, random })),
    async reopen(account, tx) {
      const gate = await store.gates.get(account, tx)
      // Asked at every answer of a model: most of the time there is nothing to write.
      if (gate && (gate.closed_until !== null || gate.probes > 0)) await change(account, tx, reopened)
    },
    hold: (account, by, tx) => change(account, tx, (gate, now) => heldBy(gate, by, now)),
    release: (account, tx) => change(account, tx, gate => released(gate)),
    async openForTrial(account, tx) {
      const gate = await store.gates.get(account, tx)
      if (!gate || !isClosed(gate, clock.now())) return false
      await change(account, tx, openedForTrial)
      return true
    },
  }
}

export interface GateParts {
  store: Pick<Store, 'gates' | 'transaction'>
  clock: Clock
  random?: () => number
}

/** A person's hold is told before a limit: waiting for the limit would not open it. */
function admission(gates: (Gate | undefined)[], now: number): Admission {
  const known = gates.filter(gate => gate !== undefined)
  const held = known.find(gate => gate.held)
  if (held) return { open: false, why: 'held', gate: held }
  const closed = known.find(gate => isClosed(gate, now))
  return closed ? { open: false, why: 'limit', until: closed.closed_until ?? now, gate: closed } : { open: true }
}
