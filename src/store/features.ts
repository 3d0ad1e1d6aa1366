import type { Kysely } from 'kysely'
import type { FeatureRow, FeaturesTable, Tables } from './tables.ts'
import type { FeatureStore } from './task-stores.ts'
import type { Writer } from './writer.ts'

/** Opens the table of features. */
export function openFeatureStore(read: Kysely<Tables>, writer: Writer): FeatureStore {
  return {
    insert: async (row, { db }) => {
      await db.insertInto('features').values(featureColumns(row)).execute()
    },
    update: async (id, patch, tx) => {
      const write = (db: Kysely<Tables>) =>
        db.updateTable('features').set(featureColumns(patch)).where('id', '=', id).execute()
      await (tx ? write(tx.db) : writer.transaction(own => write(own.db)))
    },
    get: async (id, tx) => {
      const row = await (tx?.db ?? read).selectFrom('features').selectAll().where('id', '=', id).executeTakeFirst()
      return row && parseFeature(row)
    },
    named: async (project, name, tx) => {
      const features = (tx?.db ?? read).selectFrom('features').selectAll()
      const row = await features.where('project', '=', project).where('name', '=', name).executeTakeFirst()
      return row && parseFeature(row)
    },
    list: async ({ project, open } = {}) => {
      let select = read.selectFrom('features').selectAll()
      if (project !== undefined) select = select.where('project', '=', project)
      if (open) select = select.where('phase', '!=', 'ready')
      return (await select.orderBy('created_at', 'desc').orderBy('id').execute()).map(parseFeature)
    },
    inTasks: async project => {
      const names = read.selectFrom('tasks').select('feature').distinct()
      const rows = await names.where('project', '=', project).where('feature', 'is not', null).execute()
      return rows.flatMap(({ feature }) => feature ?? [])
    },
    remove: async (id, { db }) => {
      await db.deleteFrom('features').where('id', '=', id).execute()
    },
  }
}

function parseFeature({ options, draft, ...plain }: FeaturesTable): FeatureRow {
  return { ...plain, options: JSON.parse(options), draft: JSON.parse(draft) }
}

function featureColumns(row: FeatureRow): FeaturesTable
function featureColumns(row: Partial<FeatureRow>): Partial<FeaturesTable>
function featureColumns({ options, draft, ...plain }: Partial<FeatureRow>): Partial<FeaturesTable> {
  return {
    ...plain,
    ...(options && { options: JSON.stringify(options) }),
    ...(draft && { draft: JSON.stringify(draft) }),
  }
}
