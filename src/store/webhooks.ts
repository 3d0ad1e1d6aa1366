import type { Kysely } from 'kysely'
import type { WebhookDelivery } from '../domain/webhook.ts'
import type { Migration } from './migrate.ts'
import type { WebhookStore } from './store.ts'
import type { Tables } from './tables.ts'
import type { Writer } from './writer.ts'

/** Messages from outside, each stored once before its sender gets an answer. */
export const webhookDeliveries: Migration = {
  number: 34,
  name: 'webhook deliveries',
  async up(db, { columns }) {
    await db.schema
      .createTable('webhook_deliveries')
      .addColumn('id', columns.integer, column => column.primaryKey())
      .addColumn('source', 'text', column => column.notNull())
      .addColumn('delivery', 'text', column => column.notNull())
      .addColumn('digest', 'text', column => column.notNull())
      .addColumn('event', 'text', column => column.notNull())
      .addColumn('body', 'text', column => column.notNull())
      .addColumn('state', 'text', column => column.notNull())
      .addColumn('outcome', 'text')
      .addColumn('tasks', 'text', column => column.notNull())
      .addColumn('tries', columns.integer, column => column.notNull())
      .addColumn('next_at', columns.integer, column => column.notNull())
      .addColumn('received_at', columns.integer, column => column.notNull())
      .addColumn('updated_at', columns.integer, column => column.notNull())
      .execute()
    const index = (named: string, columns: string[]) =>
      db.schema.createIndex(named).on('webhook_deliveries').columns(columns)
    await index('webhook_deliveries_id', ['source', 'delivery']).unique().execute()
    await index('webhook_deliveries_digest', ['source', 'digest']).unique().execute()
    await index('webhook_deliveries_state', ['state', 'next_at']).execute()
    await index('webhook_deliveries_age', ['received_at']).execute()
  },
}

/** States in which a delivery is worked on by itself. */
const OPEN: readonly WebhookDelivery['state'][] = ['waiting', 'starting']

/** Opens the table of deliveries. */
export function openWebhookStore(read: Kysely<Tables>, writer: Writer, sync: () => Promise<void>): WebhookStore {
  const all = (db: Kysely<Tables>) => db.selectFrom('webhook_deliveries').selectAll()
  const countOpen = async (db: Kysely<Tables>) => {
    const open = db.selectFrom('webhook_deliveries').where('state', 'in', OPEN)
    const row = await open.select(({ fn }) => fn.countAll<number>().as('count')).executeTakeFirst()
    return Number(row?.count ?? 0)
  }
  return {
    add: async (row, most) => {
      const added = await writer.transaction(async ({ db }) => {
        const same = all(db).where('source', '=', row.source)
        const known = await same
          .where(either => either.or([either('delivery', '=', row.delivery), either('digest', '=', row.digest)]))
          .executeTakeFirst()
        if (known) return 'known' as const
        if ((await countOpen(db)) >= most) return 'full' as const
        const fresh = { state: 'waiting' as const, outcome: null, tasks: '', tries: 0 }
        await db
          .insertInto('webhook_deliveries')
          .values({ ...row, ...fresh, next_at: row.received_at, updated_at: row.received_at })
          .execute()
        return 'new' as const
      })
      // The sender does not send it again.
      if (added === 'new') await sync()
      return added
    },
    get: (id, tx) =>
      all(tx?.db ?? read)
        .where('id', '=', id)
        .executeTakeFirst(),
    due: (until, limit) =>
      all(read).where('state', 'in', OPEN).where('next_at', '<=', until).orderBy('id').limit(limit).execute(),
    nextAt: async () => {
      const open = read.selectFrom('webhook_deliveries').where('state', 'in', OPEN)
      const row = await open.select(({ fn }) => fn.min('next_at').as('at')).executeTakeFirst()
      return row?.at ?? undefined
    },
    count: () => countOpen(read),
    // Grouped here: a database would go through every message of a source. Those that wait are at most as many as the queue has places.
    countBySource: async () => {
      const open = await read.selectFrom('webhook_deliveries').select('source').where('state', 'in', OPEN).execute()
      return new Map([...Map.groupBy(open, ({ source }) => source)].map(([source, rows]) => [source, rows.length]))
    },
    list: ({ state, source, limit }) => {
      let select = all(read)
      if (state !== undefined) select = select.where('state', '=', state)
      if (source !== undefined) select = select.where('source', '=', source)
      return select.orderBy('id', 'desc').limit(limit).execute()
    },
    move: async ({ id, state, tries }, patch, tx) => {
      const change = tx.db.updateTable('webhook_deliveries').set(patch).where('id', '=', id)
      const changed = await change.where('state', '=', state).where('tries', '=', tries).executeTakeFirst()
      return changed.numUpdatedRows === 1n
    },
    prune: (before, keepText) =>
      writer.transaction(async ({ db }) => {
        const closed = db.deleteFrom('webhook_deliveries').where('state', 'not in', OPEN)
        await closed.where('received_at', '<', before).execute()
        // Their bodies are kept, so their number is bounded; that they came stays known.
        for (const state of ['failed', 'refused'] as const) {
          const newest = db.selectFrom('webhook_deliveries').select('id').where('state', '=', state)
          const kept = newest.orderBy('id', 'desc').limit(keepText)
          const others = db.updateTable('webhook_deliveries').set({ body: '' }).where('state', '=', state)
          await others.where('body', '<>', '').where('id', 'not in', kept).execute()
        }
      }),
  }
}
