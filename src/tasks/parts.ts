import type { Clock } from '../base/clock.ts'
import type { Store, Tx } from '../store/store.ts'

/** What tasks are kept in, and the time that is written into them. */
export interface TasksParts {
  store: Store
  clock: Clock
}

/** The same inside an open transaction. */
export interface TxParts extends TasksParts {
  tx: Tx
}
