import type { Kysely } from 'kysely'
import { OPEN_MERGES } from '../../domain/workspace/merge.ts'
import type { Tables } from '../tables.ts'
import type { MergeFilter, Merges } from './shapes.ts'

/** Opens the table of merges. */
export function openMergeRows(read: Kysely<Tables>): Merges {
  return {
    insert: (row, { db }) => db.insertInto('merges').values(row).returningAll().executeTakeFirstOrThrow(),
    move: async ({ id, state }, patch, { db }) => {
      const mine = db.updateTable('merges').set(patch).where('id', '=', id).where('state', '=', state)
      return (await mine.executeTakeFirst()).numUpdatedRows === 1n
    },
    get: (id, tx) => (tx?.db ?? read).selectFrom('merges').selectAll().where('id', '=', id).executeTakeFirst(),
    open: (task, tx) => {
      const all = (tx?.db ?? read).selectFrom('merges').selectAll().where('task_id', '=', task)
      return all.where('state', 'in', OPEN_MERGES).executeTakeFirst()
    },
    list: async (filter, tx) => (await newestFirst(tx?.db ?? read, filter).execute()).reverse(),
    lanes: () => {
      const all = read.selectFrom('merges').select(['repository', 'target']).distinct()
      return all.where('state', 'in', OPEN_MERGES).orderBy('repository').orderBy('target').execute()
    },
    toClean: () => {
      const merged = read.selectFrom('merges').selectAll().where('state', '=', 'merged')
      return merged.where('cleaned_at', 'is', null).orderBy('id').execute()
    },
  }
}

function newestFirst(db: Kysely<Tables>, { project, task, lane, states, limit }: MergeFilter = {}) {
  let select = db.selectFrom('merges').selectAll()
  if (project !== undefined) select = select.where('project', '=', project)
  if (task !== undefined) select = select.where('task_id', '=', task)
  if (lane) select = select.where('repository', '=', lane.repository).where('target', '=', lane.target)
  if (states) select = select.where('state', 'in', states)
  if (limit !== undefined) select = select.limit(limit)
  return select.orderBy('id', 'desc')
}
