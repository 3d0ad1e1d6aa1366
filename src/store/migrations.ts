import { sql } from 'kysely'
import { acceptedFiles } from './accepted-files.ts'
import { apiAccess } from './access.ts'
import { apiReplies } from './api-replies.ts'
import { allowedOnce } from './escalations.ts'
import { rowCounts } from './figures.ts'
import { firstSchema } from './first-schema.ts'
import type { Migration } from './migrate.ts'
import { observedCost, observedSessions, observedUsage } from './observed.ts'
import { spendingPurposes } from './spending.ts'
import { webhookDeliveries } from './webhooks.ts'

/**
 * A task says nothing about its retries unless somebody asked for a number: `max_retries` may be null. Until now the default,
 * 3, stood for that. The column is replaced, because SQLite cannot make a column nullable.
 */
const nullableRetries: Migration = {
  number: 24,
  name: 'nullable retries',
  async up(db, { columns }) {
    await db.schema.alterTable('tasks').addColumn('own_retries', columns.integer).execute()
    await sql`update tasks set own_retries = max_retries where max_retries <> 3`.execute(db)
    await db.schema.alterTable('tasks').dropColumn('max_retries').execute()
    await db.schema.alterTable('tasks').renameColumn('own_retries', 'max_retries').execute()
  },
}

/** The name that a task has in the file from which it was imported. */
const taskAliases: Migration = {
  number: 26,
  name: 'task aliases',
  async up(db) {
    await db.schema.alterTable('tasks').addColumn('alias', 'text').execute()
    await db.schema.createIndex('tasks_alias').on('tasks').columns(['alias']).where('alias', 'is not', null).execute()
  },
}

/** All migrations, in the order of their numbers. A new one goes to the end with the next number, which is then `SCHEMA`. */
export const MIGRATIONS: readonly Migration[] = [
  firstSchema,
  nullableRetries,
  acceptedFiles,
  taskAliases,
  allowedOnce,
  observedSessions,
  observedUsage,
  apiAccess,
  apiReplies,
  observedCost,
  rowCounts,
  webhookDeliveries,
  spendingPurposes,
]
