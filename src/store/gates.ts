import type { Kysely } from 'kysely'
import type { Gate } from '../domain/account/limit.ts'
import type { Gates } from './store.ts'
import type { GatesTable, Tables } from './tables.ts'

/** Opens the table. A gate is read and written in one transaction: two limits of one account may come at once. */
export function openGateRows(read: Kysely<Tables>): Gates {
  return {
    get: async (account, tx) => {
      const select = (tx?.db ?? read).selectFrom('gates').selectAll()
      return whole(await select.where('account', '=', account).executeTakeFirst())
    },
    list: async () => (await read.selectFrom('gates').selectAll().orderBy('account').execute()).flatMap(toList),
    put: async (gate, at, tx) => {
      const { account, ...rest } = { ...gate, held: gate.held ? 1 : 0, updated_at: at }
      await tx.db
        .insertInto('gates')
        .values({ account, ...rest })
        .onConflict(same => same.column('account').doUpdateSet(rest))
        .execute()
    },
  }
}

function whole(row: GatesTable | undefined): Gate | undefined {
  if (!row) return undefined
  const { updated_at: _, ...gate } = row
  return { ...gate, held: row.held !== 0 }
}

function toList(row: GatesTable): Gate[] {
  const gate = whole(row)
  return gate ? [gate] : []
}
