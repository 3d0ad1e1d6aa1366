import { type Kysely, type SqlBool, sql } from 'kysely'
import type { Task, TaskScope } from '../../domain/task.ts'
import type { Differences } from '../database/database.ts'
import type { Tables } from '../tables.ts'
import { listedAsJson } from './as-json.ts'
import { hotTasks } from './hot.ts'
import { countsOf, filtered, listed, under } from './select.ts'
import type { Edge, Tasks } from './shapes.ts'

/** Opens the tables of tasks and of what they wait for. Who may move which, and when, is the business of `src/tasks`. */
export function openTasks(read: Kysely<Tables>, { json }: Pick<Differences, 'json'>): Tasks {
  const hot = hotTasks(read)
  return {
    insert: hot.insert,
    get: async (id, tx) =>
      tx ? hot.get(id, tx) : read.selectFrom('tasks').selectAll().where('id', '=', id).executeTakeFirst(),
    of: (ids, tx) =>
      inParts(ids, some => (tx?.db ?? read).selectFrom('tasks').selectAll().where('id', 'in', some).execute()),
    beginning: (prefix, tx) => beginning(tx?.db ?? read, prefix),
    list: (filter, tx) => listed(tx?.db ?? read, filter),
    listAsJson: filter => listedAsJson(read, json, filter),
    edges: (filter, tx) =>
      (tx?.db ?? read)
        .selectFrom('task_edges')
        .selectAll()
        .where('task_id', 'in', filtered(tx?.db ?? read, filter).select('id'))
        .execute(),
    counts: (scope, tx) => countsOf(tx?.db ?? read, scope),
    next: hot.next,
    nextFree: async (scope, tx) => (scope.task === undefined ? hot.nextFree(scope, tx) : nextUnder(tx.db, scope.task)),
    free: (scope, limit, tx) => free(tx.db, scope, limit),
    held: (by, tx) => held(tx?.db ?? read, by),
    atWork: (session, tx) => atWork(tx?.db ?? read, session),
    swap: hot.swap,
    link: (edge, tx) => link(tx.db, edge),
    unlink: async ({ task_id, blocker_id }, { db }) => {
      const mine = db.deleteFrom('task_edges').where('task_id', '=', task_id).where('blocker_id', '=', blocker_id)
      return (await mine.executeTakeFirst()).numDeletedRows === 1n
    },
    blockersOf: (ids, tx) =>
      inParts(ids, some =>
        (tx?.db ?? read)
          .selectFrom('task_edges')
          .selectAll()
          .where('task_id', 'in', some)
          .orderBy('task_id')
          .orderBy('blocker_id')
          .execute(),
      ),
    dependentsOf: async (id, tx) => (tx ? hot.dependentsOf(id, tx) : dependentsOf(read, id)),
    childrenOf: (ids, tx) =>
      inParts(ids, some =>
        (tx?.db ?? read).selectFrom('tasks').selectAll().where('parent_id', 'in', some).orderBy('position').execute(),
      ),
    remove: async (ids, { db }) => {
      await inParts(ids, async some => {
        await db
          .deleteFrom('task_edges')
          .where(edge => edge.or([edge('task_id', 'in', some), edge('blocker_id', 'in', some)]))
          .execute()
        await db.deleteFrom('tasks').where('id', 'in', some).execute()
        return []
      })
    },
  }
}

const SHOWN_AT_MOST = 9

function beginning(db: Kysely<Tables>, prefix: string): Promise<Task[]> {
  return db
    .selectFrom('tasks')
    .selectAll()
    .where('id', '>=', prefix)
    .where('id', '<', `${prefix}~`)
    .orderBy('id')
    .limit(SHOWN_AT_MOST)
    .execute()
}

/** The parts of one task are few: found by walking down, then put in order. */
async function nextUnder(db: Kysely<Tables>, task: string): Promise<Task | undefined> {
  return (await free(db, { project: '', task }, 1))[0]
}

function free(db: Kysely<Tables>, { project, feature, task }: TaskScope, limit: number): Promise<Task[]> {
  let ready = db.selectFrom('tasks').selectAll().where('state', '=', sql.lit('ready')).where('session_id', 'is', null)
  if (task !== undefined) ready = ready.where('id', 'in', under(task))
  else ready = ready.where('project', '=', project)
  if (task === undefined && feature !== undefined) ready = ready.where('feature', '=', feature)
  return ready.orderBy('priority', 'desc').orderBy('position').limit(limit).execute()
}

function held(db: Kysely<Tables>, { run, owner }: { run?: string | undefined; owner?: string | undefined }) {
  let select = db.selectFrom('tasks').selectAll().where('lease_owner', 'is not', null)
  if (run !== undefined) select = select.where('run_id', '=', run)
  if (owner !== undefined) select = select.where('lease_owner', '=', owner)
  return select.orderBy('position').execute()
}

/** A session has few tasks, so they are looked through: an index on this would be written with every claim and every finish. */
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

/** True where the edge was not there before. */
async function link(db: Kysely<Tables>, edge: Edge): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('task_edges')
    .values(edge)
    .onConflict(same => same.columns(['task_id', 'blocker_id']).doNothing())
    .executeTakeFirst()
  return numInsertedOrUpdatedRows === 1n
}

/** More variables than this and a database may refuse the statement. */
const IDS_AT_ONCE = 500

async function inParts<T>(ids: readonly string[], work: (some: readonly string[]) => Promise<T[]>): Promise<T[]> {
  const all: T[] = []
  for (let from = 0; from < ids.length; from += IDS_AT_ONCE)
    all.push(...(await work(ids.slice(from, from + IDS_AT_ONCE))))
  return all
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
