import type { Kysely } from 'kysely'
import type { Migration } from './migrate.ts'
import type { ApiReplyStore } from './store.ts'
import type { ApiReplyRow, Tables } from './tables.ts'
import type { Writer } from './writer.ts'

export const apiReplies: Migration = {
  number: 31,
  name: 'replies of the API',
  async up(db, { columns }) {
    await db.schema
      .createTable('api_replies')
      .addColumn('caller', 'text', column => column.notNull())
      .addColumn('key', 'text', column => column.notNull())
      .addColumn('route', 'text', column => column.notNull())
      .addColumn('hash', 'text', column => column.notNull())
      .addColumn('status', columns.integer)
      .addColumn('reply', 'text')
      .addColumn('created_at', columns.integer, column => column.notNull())
      .addPrimaryKeyConstraint('api_replies_key', ['caller', 'key'])
      .execute()
    await db.schema.createIndex('api_replies_age').on('api_replies').columns(['created_at']).execute()
  },
}

/** Opens the table of replies. Programs may send thousands of requests a second, so the statements are built once. */
export function openApiReplyStore(read: Kysely<Tables>, writer: Writer): ApiReplyStore {
  const row = { caller: '', key: '', route: '', hash: '', status: null, reply: null, created_at: 0 }
  const one = read.selectFrom('api_replies').selectAll().where('caller', '=', '').where('key', '=', '').compile()
  const insert = read
    .insertInto('api_replies')
    .values(row)
    .onConflict(same => same.columns(['caller', 'key']).doNothing())
    .compile().sql
  const update = read
    .updateTable('api_replies')
    .set({ status: 0, reply: '' })
    .where('caller', '=', '')
    .where('key', '=', '')
    .compile().sql
  const remove = read.deleteFrom('api_replies').where('caller', '=', '').where('key', '=', '').compile().sql
  return {
    async get(caller, key) {
      return (await read.executeQuery<ApiReplyRow>({ ...one, parameters: [caller, key] })).rows[0]
    },
    begin: ({ caller, key, route, hash, created_at }) =>
      writer.share(async tx => (await tx.change(insert, [caller, key, route, hash, null, null, created_at])) === 1),
    finish: (caller, key, { status, reply }) =>
      writer.share(async tx => void (await tx.change(update, [status, reply, caller, key]))),
    drop: (caller, key) => writer.share(async tx => void (await tx.change(remove, [caller, key]))),
    dropBefore: time =>
      writer.transaction(async ({ db }) => {
        await db.deleteFrom('api_replies').where('created_at', '<', time).execute()
      }),
  }
}
