import type { Kysely } from 'kysely'
import type { Tables } from '../tables.ts'
import type { ScheduleRow, SchedulesTable } from './rows.ts'
import type { Schedules } from './shapes.ts'

/** Opens the table of runs to come. */
export function openSchedules(read: Kysely<Tables>): Schedules {
  return {
    insert: async (row, { db }) => {
      await db.insertInto('schedules').values(columnsOf(row)).execute()
    },
    move: async ({ id, due_at }, patch, { db }) => {
      const mine = db.updateTable('schedules').set(columnsOf(patch)).where('id', '=', id).where('state', '=', 'waiting')
      const same = due_at === null ? mine.where('due_at', 'is', null) : mine.where('due_at', '=', due_at)
      return (await same.executeTakeFirst()).numUpdatedRows === 1n
    },
    get: async (id, tx) => {
      const row = await (tx?.db ?? read).selectFrom('schedules').selectAll().where('id', '=', id).executeTakeFirst()
      return row && fromColumns(row)
    },
    list: async ({ project, waiting } = {}, tx) => {
      let select = (tx?.db ?? read).selectFrom('schedules').selectAll()
      if (project !== undefined) select = select.where('project', '=', project)
      if (waiting) select = select.where('state', '=', 'waiting')
      const rows = await select.orderBy('due_at').orderBy('created_at', 'desc').orderBy('id').execute()
      const found = rows.map(fromColumns)
      return [...found.filter(({ state }) => state === 'waiting'), ...found.filter(({ state }) => state !== 'waiting')]
    },
  }
}

function fromColumns({ target, options, ...plain }: SchedulesTable): ScheduleRow {
  return { ...plain, target: JSON.parse(target), options: JSON.parse(options) }
}

function columnsOf(row: ScheduleRow): SchedulesTable
function columnsOf(row: Partial<ScheduleRow>): Partial<SchedulesTable>
function columnsOf({ target, options, ...plain }: Partial<ScheduleRow>): Partial<SchedulesTable> {
  return {
    ...plain,
    ...(target && { target: JSON.stringify(target) }),
    ...(options && { options: JSON.stringify(options) }),
  }
}
