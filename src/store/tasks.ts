import { type Kysely, type SqlBool, sql } from 'kysely'
import { shortId } from '../base/ids.ts'
import type { Task, TaskState } from '../domain/task.ts'
import type { NewTask, TaskFilter, Tasks } from './store.ts'
import type { Tables } from './tables.ts'

/** Opens the tables of tasks and of what they wait for. Who may move which, and when, is the business of `src/tasks`. */
export function openTasks(read: Kysely<Tables>): Tasks {
  return {
    insert: (task, tx) => insert(tx.db, task),
    get: (id, tx) => (tx?.db ?? read).selectFrom('tasks').selectAll().where('id', '=', id).executeTakeFirst(),
    list: (filter, tx) => list(tx?.db ?? read, filter),
    next: (session, tx) => next(tx.db, session),
    atWork: (session, tx) => atWork(tx?.db ?? read, session),
    swap: (task, patch, tx) => swap(tx.db, task, patch),
    link: (edge, tx) => link(tx.db, edge),
    blockersOf: (ids, tx) => blockersOf(tx?.db ?? read, ids),
    dependentsOf: (id, tx) => dependentsOf(tx?.db ?? read, id),
  }
}

/** Six hex digits are short enough to type and will meet one day: the next ones are tried. */
async function insert(db: Kysely<Tables>, task: NewTask): Promise<Task> {
  const position = sql<number>`(select coalesce(max(position), 0) + 1 from tasks)`
  for (;;) {
    const row = await db
      .insertInto('tasks')
      .values({ ...task, id: shortId('t'), position })
      .onConflict(same => same.column('id').doNothing())
      .returningAll()
      .executeTakeFirst()
    if (row) return row
  }
}

async function list(db: Kysely<Tables>, { session, states }: TaskFilter): Promise<Task[]> {
  let select = db.selectFrom('tasks').selectAll().where('session_id', '=', session)
  if (states !== undefined) select = select.where('state', 'in', states)
  return select.orderBy('position').execute()
}

function next(db: Kysely<Tables>, session: string): Promise<Task | undefined> {
  return db
    .selectFrom('tasks')
    .selectAll()
    .where('session_id', '=', session)
    .where('state', '=', sql.lit<TaskState>('ready'))
    .orderBy('priority', 'desc')
    .orderBy('position')
    .limit(1)
    .executeTakeFirst()
}

/** Written as the index on it is, or the database would not use that. */
const BEGUN = sql<SqlBool>`"state" in ('running', 'verifying', 'merging', 'waiting')`

function atWork(db: Kysely<Tables>, session: string): Promise<Task | undefined> {
  return db
    .selectFrom('tasks')
    .selectAll()
    .where('session_id', '=', session)
    .where(BEGUN)
    .orderBy(sql`case state when 'waiting' then 1 else 0 end`)
    .orderBy('position')
    .limit(1)
    .executeTakeFirst()
}

/** Compare and swap: nothing changes where somebody else has moved it since, or holds it with another attempt. */
async function swap(db: Kysely<Tables>, { id, state, attempt }: Task, patch: Partial<Task>): Promise<Task | undefined> {
  return db
    .updateTable('tasks')
    .set(patch)
    .where('id', '=', id)
    .where('state', '=', state)
    .where('attempt', '=', attempt)
    .returningAll()
    .executeTakeFirst()
}

/** True where the edge was not there before. */
async function link(db: Kysely<Tables>, edge: { task_id: string; blocker_id: string }): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('task_edges')
    .values(edge)
    .onConflict(same => same.columns(['task_id', 'blocker_id']).doNothing())
    .executeTakeFirst()
  return numInsertedOrUpdatedRows === 1n
}

/** More variables than this and a database may refuse the statement. */
const IDS_AT_ONCE = 500

async function blockersOf(db: Kysely<Tables>, ids: readonly string[]) {
  const edges: Tables['task_edges'][] = []
  for (let from = 0; from < ids.length; from += IDS_AT_ONCE) {
    const some = ids.slice(from, from + IDS_AT_ONCE)
    const select = db.selectFrom('task_edges').selectAll().where('task_id', 'in', some)
    edges.push(...(await select.orderBy('task_id').orderBy('blocker_id').execute()))
  }
  return edges
}

function dependentsOf(db: Kysely<Tables>, id: string): Promise<Task[]> {
  return db
    .selectFrom('task_edges')
    .innerJoin('tasks', 'tasks.id', 'task_edges.task_id')
    .selectAll('tasks')
    .where('task_edges.blocker_id', '=', id)
    .orderBy('position')
    .execute()
}
