import type { TxParts } from '../parts.ts'
import type { Around } from './cycle.ts'

/** The graph as the store has it. */
export function storedAround({ store: { tasks }, tx }: TxParts): Around {
  return {
    blockersOf: ids => tasks.blockersOf(ids, tx),
    partsOf: ids => tasks.childrenOf(ids, tx),
    parentsOf: async ids => {
      const found = await Promise.all(ids.map(id => tasks.get(id, tx)))
      return found.filter(task => task !== undefined)
    },
  }
}
