import { type Kysely, type RawBuilder, type SelectQueryBuilder, type SqlBool, sql } from 'kysely'
import type { Task, TaskScope, TaskState } from '../../domain/task.ts'
import type { Tables } from '../tables.ts'
import type { TaskFilter } from './shapes.ts'

type Selecting = SelectQueryBuilder<Tables, 'tasks', object>

/** Tasks that fit, in the order of submission. */
export function listed(db: Kysely<Tables>, filter: TaskFilter): Promise<Task[]> {
  const select = filtered(db, filter).selectAll().orderBy('position')
  return (filter.limit === undefined ? select : select.limit(filter.limit)).execute()
}

/** The condition of a filter. Its limit is not part of it: that needs an order. */
export function filtered(db: Kysely<Tables>, filter: TaskFilter): Selecting {
  const { session, states, project, feature, label, text } = filter
  let select: Selecting = db.selectFrom('tasks')
  if (session !== undefined) select = select.where('session_id', '=', session)
  if (states !== undefined) select = select.where('state', 'in', states)
  if (project !== undefined) select = select.where('project', '=', project)
  if (feature !== undefined) select = select.where('feature', '=', feature)
  if (label !== undefined) select = select.where(sql<SqlBool>`labels like ${containing(` ${label} `)} escape '!'`)
  if (text !== undefined) select = select.where(mentions(text))
  if (filter.under !== undefined) select = select.where('id', 'in', under(filter.under))
  return select
}

/** A task and all its parts, by id. */
export function under(task: string): RawBuilder<string> {
  return sql<string>`(with recursive part(id) as (
    select id from tasks where id = ${task}
    union select tasks.id from tasks join part on tasks.parent_id = part.id
  ) select id from part)`
}

/** How many of a scope are in each state. */
export async function countsOf(
  db: Kysely<Tables>,
  { project, feature, task }: TaskScope,
): Promise<Partial<Record<TaskState, number>>> {
  const rows = await filtered(db, { project, feature, under: task })
    .select(['state', eb => eb.fn.countAll<number>().as('count')])
    .groupBy('state')
    .execute()
  return Object.fromEntries(rows.map(({ state, count }) => [state, Number(count)]))
}

/** As it is typed, or in small letters: databases know small letters of English only. */
function mentions(text: string): RawBuilder<SqlBool> {
  const [typed, small] = [containing(text), containing(text.toLowerCase())]
  return sql<SqlBool>`(title like ${typed} escape '!' or description like ${typed} escape '!'
    or lower(title) like ${small} escape '!' or lower(description) like ${small} escape '!')`
}

function containing(text: string): string {
  return `%${text.replace(/[%_!]/g, '!$&')}%`
}
