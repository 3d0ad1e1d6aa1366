import { type Kysely, sql } from 'kysely'
import type { Amounts } from '../domain/budget.ts'
import type { SpendingKey, SpendingStore } from './store.ts'
import type { SpendingRow, Tables } from './tables.ts'

/** Opens the table of spending. */
export function openSpendingStore(read: Kysely<Tables>): SpendingStore {
  return {
    add: (keys, { amounts, at }, tx) => add(tx.db, keys, { ...amounts, updated_at: at }),
    of: (keys, tx) => findRows(tx?.db ?? read, keys),
    list: scope =>
      read.selectFrom('spending').selectAll().where('scope', '=', scope).orderBy('updated_at', 'desc').execute(),
    forget: async ({ scope, key }, tx) => {
      await tx.db.deleteFrom('spending').where('scope', '=', scope).where('key', '=', key).execute()
    },
  }
}

/** One statement for all rows, because it runs with every reply of a model. */
function add(
  db: Kysely<Tables>,
  keys: readonly SpendingKey[],
  more: Amounts & { updated_at: number },
): Promise<SpendingRow[]> {
  const sum = (column: keyof Amounts) =>
    sql<number>`${sql.ref(`spending.${column}`)} + ${sql.ref(`excluded.${column}`)}`
  return db
    .insertInto('spending')
    .values(keys.map(({ scope, key }) => ({ scope, key, ...more })))
    .onConflict(same =>
      same.columns(['scope', 'key']).doUpdateSet({
        turns: sum('turns'),
        tokens: sum('tokens'),
        cost_usd: sum('cost_usd'),
        wall_minutes: sum('wall_minutes'),
        updated_at: more.updated_at,
      }),
    )
    .returningAll()
    .execute()
}

function findRows(db: Kysely<Tables>, keys: readonly SpendingKey[]): Promise<SpendingRow[]> {
  return db
    .selectFrom('spending')
    .selectAll()
    .where(({ eb, or, and }) => or(keys.map(({ scope, key }) => and([eb('scope', '=', scope), eb('key', '=', key)]))))
    .execute()
}
