import type { Store, Tx } from '../../../src/store/store.ts'

export interface MortalStore {
  store: Store
  /** From now on every call fails, as for a process that is gone. */
  die(): void
  /** Dies with the transaction after this many others: before it is committed, or right after. */
  dieAt(transactions: number, when: 'before' | 'after', died: () => void): void
}

class Dead extends Error {
  override message = 'this life of the daemon is over'
}

/** A store that can fail at any moment, as if its daemon had died; what was committed stays. */
export function mortalStore(whole: Store): MortalStore {
  let isDead = false
  let fate: { left: number; when: 'before' | 'after'; died: () => void } | undefined
  const check = () => {
    if (isDead) throw new Dead()
  }
  const dieIfDue = (when: 'before' | 'after') => {
    if (fate?.when !== when || fate.left > 0) return
    isDead = true
    fate.died()
    fate = undefined
  }
  const transaction = async <T>(work: (tx: Tx) => T | Promise<T>): Promise<T> => {
    check()
    if (fate) fate.left -= 1
    const committed = await whole.transaction(async tx => {
      const result = await work(tx)
      dieIfDue('before')
      check()
      return result
    })
    dieIfDue('after')
    check()
    return committed
  }
  const store = makeMortal(whole, { transaction, check })
  return {
    store,
    die: () => {
      isDead = true
    },
    dieAt: (transactions, when, died) => {
      fate = { left: transactions, when, died }
    },
  }
}

interface Mortality {
  transaction: Store['transaction']
  check(): void
}

function makeMortal<T extends object>(whole: T, { transaction, check }: Mortality): T {
  return new Proxy(whole, {
    get(target, name) {
      if (name === 'transaction') return transaction
      const value: unknown = Reflect.get(target, name)
      if (typeof value === 'object' && value !== null) return makeMortal(value, { transaction, check })
      if (typeof value !== 'function') return value
      return (...args: unknown[]) => {
        check()
        return Reflect.apply(value, target, args)
      }
    },
  })
}
