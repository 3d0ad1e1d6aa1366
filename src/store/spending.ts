import { type ExpressionBuilder, type Kysely, sql } from 'kysely'
import { type Amounts, MEASURES, PURPOSES, type SpentByPurpose } from '../domain/budget.ts'
import type { Tx } from './database.ts'
import type { Migration } from './migrate.ts'
import type { PurposeRow, SpendingRow, Tables } from './tables.ts'

export type SpendingKey = Pick<SpendingRow, 'scope' | 'key'>

/** Spending by task, session, day and project. */
export interface SpendingStore {
  /** Adds the same amounts to each row, and returns the new totals. `parts`: what they went to, where that is not all work. */
  add(
    keys: readonly SpendingKey[],
    more: { amounts: Amounts; at: number; parts?: Partial<SpentByPurpose> | undefined },
    tx: Tx,
  ): Promise<SpendingRow[]>
  /** What of these keys went to something other than work. */
  parts(keys: readonly SpendingKey[]): Promise<PurposeRow[]>
  /** The rows that exist for these keys. */
  of(keys: readonly SpendingKey[], tx?: Tx): Promise<SpendingRow[]>
  /** All rows of one scope, the last changed first. */
  list(scope: SpendingRow['scope']): Promise<SpendingRow[]>
  /** Deletes a row, so that it counts from zero again. */
  forget(key: SpendingKey, tx: Tx): Promise<void>
}

/** What of the spending was for something other than the work itself. */
export const spendingPurposes: Migration = {
  number: 35,
  name: 'spending by purpose',
  async up(db, { columns }) {
    await db.schema
      .createTable('purpose_spending')
      .addColumn('scope', 'text', column => column.notNull())
      .addColumn('key', 'text', column => column.notNull())
      .addColumn('purpose', 'text', column => column.notNull())
      .addColumn('tokens', columns.integer, column => column.notNull())
      .addColumn('cost_usd', columns.real, column => column.notNull())
      .addPrimaryKeyConstraint('purpose_spending_key', ['scope', 'key', 'purpose'])
      .execute()
  },
}

/** Opens the tables of spending. */
export function openSpendingStore(read: Kysely<Tables>): SpendingStore {
  return {
    add: async (keys, { amounts, at, parts }, tx) => {
      const rows = await add(tx.db, keys, { ...amounts, updated_at: at })
      if (parts) await addParts(tx.db, keys, parts)
      return rows
    },
    parts: keys => read.selectFrom('purpose_spending').selectAll().where(isOneOf(keys)).execute(),
    of: (keys, tx) => findRows(tx?.db ?? read, keys),
    list: scope =>
      read.selectFrom('spending').selectAll().where('scope', '=', scope).orderBy('updated_at', 'desc').execute(),
    forget: async ({ scope, key }, tx) => {
      await tx.db.deleteFrom('spending').where('scope', '=', scope).where('key', '=', key).execute()
      await tx.db.deleteFrom('purpose_spending').where('scope', '=', scope).where('key', '=', key).execute()
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
    .values(keys.map(key => ({ ...pickKey(key), ...more })))
    .onConflict(same =>
      same.columns(['scope', 'key']).doUpdateSet({
        ...Object.fromEntries(MEASURES.map(measure => [measure, sum(measure)])),
        updated_at: more.updated_at,
      }),
    )
    .returningAll()
    .execute()
}

/** Work has no row: it is what the others leave of the whole. */
async function addParts(
  db: Kysely<Tables>,
  keys: readonly SpendingKey[],
  parts: Partial<SpentByPurpose>,
): Promise<void> {
  const rows = PURPOSES.filter(purpose => purpose !== 'work').flatMap(purpose => {
    const { tokens = 0, cost_usd = 0 } = parts[purpose] ?? {}
    return tokens === 0 && cost_usd === 0 ? [] : keys.map(key => ({ ...pickKey(key), purpose, tokens, cost_usd }))
  })
  if (rows.length === 0) return
  await db
    .insertInto('purpose_spending')
    .values(rows)
    .onConflict(same =>
      same.columns(['scope', 'key', 'purpose']).doUpdateSet({
        tokens: sql<number>`purpose_spending.tokens + excluded.tokens`,
        cost_usd: sql<number>`purpose_spending.cost_usd + excluded.cost_usd`,
      }),
    )
    .execute()
}

/** Callers pass rows that have more than the key. */
function pickKey({ scope, key }: SpendingKey): SpendingKey {
  return { scope, key }
}

function findRows(db: Kysely<Tables>, keys: readonly SpendingKey[]): Promise<SpendingRow[]> {
  return db.selectFrom('spending').selectAll().where(isOneOf(keys)).execute()
}

function isOneOf(keys: readonly SpendingKey[]) {
  return ({
    eb,
    or,
    and,
  }: ExpressionBuilder<Pick<Tables, 'spending' | 'purpose_spending'>, 'spending' | 'purpose_spending'>) =>
    or(keys.map(({ scope, key }) => and([eb('scope', '=', scope), eb('key', '=', key)])))
}
