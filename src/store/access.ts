import { type Kysely, sql } from 'kysely'
import type { Migration } from './migrate.ts'
import type { ApiKeyStore, AuditStore, NewAuditEntry } from './store.ts'
import type { Tables } from './tables.ts'
import type { Writer } from './writer.ts'

/** The keys of other programs, and who changed what. */
export const apiAccess: Migration = {
  number: 30,
  name: 'api keys and audit',
  async up(db, { columns, appendOnly }) {
    await db.schema
      .createTable('api_keys')
      .addColumn('id', 'text', column => column.notNull().primaryKey())
      .addColumn('name', 'text', column => column.notNull().unique())
      .addColumn('hash', 'text', column => column.notNull())
      .addColumn('scope', 'text', column => column.notNull())
      .addColumn('project', 'text')
      .addColumn('system', 'text')
      .addColumn('created_at', columns.integer, column => column.notNull())
      .addColumn('expires_at', columns.integer)
      .addColumn('revoked_at', columns.integer)
      .addColumn('last_used_at', columns.integer)
      .execute()
    await db.schema
      .createTable('audit')
      .addColumn('id', columns.integer, column => column.primaryKey())
      .addColumn('time', columns.integer, column => column.notNull())
      .addColumn('caller', 'text', column => column.notNull())
      .addColumn('via', 'text', column => column.notNull())
      .addColumn('scope', 'text', column => column.notNull())
      .addColumn('action', 'text', column => column.notNull())
      .addColumn('target', 'text', column => column.notNull())
      .addColumn('request_id', 'text', column => column.notNull())
      // A row about an earlier one: the change that it asked for did not happen.
      .addColumn('entry', columns.integer)
      .addColumn('failed', columns.integer)
      .execute()
    await db.schema.createIndex('audit_time').on('audit').columns(['time']).execute()
    await db.schema.createIndex('audit_entry').on('audit').columns(['entry']).where('entry', 'is not', null).execute()
    for (const statement of appendOnly('audit')) await sql.raw(statement).execute(db)
  },
}

export function openApiKeyStore(read: Kysely<Tables>, writer: Writer): ApiKeyStore {
  return {
    list: () => read.selectFrom('api_keys').selectAll().orderBy('created_at').orderBy('id').execute(),
    insert: key =>
      writer.transaction(async ({ db }) => {
        const added = await db
          .insertInto('api_keys')
          .values(key)
          .onConflict(same => same.column('name').doNothing())
          .executeTakeFirst()
        return added.numInsertedOrUpdatedRows === 1n
      }),
    update: (id, patch) =>
      writer.transaction(async ({ db }) => {
        await db.updateTable('api_keys').set(patch).where('id', '=', id).execute()
      }),
  }
}

export function openAuditStore(read: Kysely<Tables>, writer: Writer): AuditStore {
  const example = { time: 0, caller: '', via: 'key', scope: 'read', action: '', target: '', request_id: '' } as const
  const text = read
    .insertInto('audit')
    .values({ ...example, entry: null, failed: null })
    .returning('id')
    .compile().sql
  const insert = (row: NewAuditEntry, entry: number | null, failed: number | null) =>
    writer.share(async tx => {
      const { time, caller, via, scope, action, target, request_id } = row
      const values = [time, caller, via, scope, action, target, request_id, entry, failed]
      const [added] = await tx.run<{ id: number }>(text, values)
      return added?.id ?? 0
    })
  return {
    add: entry => insert(entry, null, null),
    fail: async ({ id, ...entry }, failed) => {
      await insert(entry, id, failed)
    },
    list: ({ since, caller, before, limit }) => {
      let select = read
        .selectFrom('audit as asked')
        .leftJoin('audit as later', 'later.entry', 'asked.id')
        .select(['asked.id', 'asked.time', 'asked.caller', 'asked.via', 'asked.scope', 'asked.action', 'asked.target'])
        .select(['asked.request_id', 'later.failed'])
        .where('asked.entry', 'is', null)
      if (since !== undefined) select = select.where('asked.time', '>=', since)
      if (caller !== undefined) select = select.where('asked.caller', '=', caller)
      if (before !== undefined) select = select.where('asked.id', '<', before)
      return select.orderBy('asked.id', 'desc').limit(limit).execute()
    },
  }
}
