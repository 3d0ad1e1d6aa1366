import { type Kysely, type RawBuilder, type SelectQueryBuilder, type SqlBool, sql } from 'kysely'
import type { Task, TaskScope, TaskState, TaskView } from '../domain/task.ts'
import type { DialectDifferences, JsonDifferences } from './database.ts'
import type { Tables } from './tables.ts'
import { prepareTaskStatements } from './task-statements.ts'
import type { TaskEdge, TaskFilter, TaskStore } from './task-stores.ts'

/** Opens the tables of tasks and of what they wait for. Who may move which, and when, is the business of `src/tasks`. */
export function openTaskStore(read: Kysely<Tables>, { json }: Pick<DialectDifferences, 'json'>): TaskStore {
  const hot = prepareTaskStatements(read)
  return {
    insert: hot.insert,
    get: async (id, tx) =>
      tx ? hot.get(id, tx) : read.selectFrom('tasks').selectAll().where('id', '=', id).executeTakeFirst(),
    of: (ids, tx) =>
      inParts(ids, some => (tx?.db ?? read).selectFrom('tasks').selectAll().where('id', 'in', some).execute()),
    beginning: (prefix, tx) => beginning(tx?.db ?? read, prefix),
    list: (filter, tx) => listTasks(tx?.db ?? read, filter),
    listAsJson: filter => listTasksAsJson(read, json, filter),
    edges: (filter, tx) =>
      (tx?.db ?? read)
        .selectFrom('task_edges')
        .selectAll()
        .where('task_id', 'in', filterTasks(tx?.db ?? read, filter).select('id'))
        .execute(),
    counts: (scope, tx) => countTasks(tx?.db ?? read, scope),
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
  if (task !== undefined) ready = ready.where('id', 'in', taskSubtree(task))
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
async function link(db: Kysely<Tables>, edge: TaskEdge): Promise<boolean> {
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

type Selecting = SelectQueryBuilder<Tables, 'tasks', object>

/** Tasks that fit, in the order of submission. */
function listTasks(db: Kysely<Tables>, filter: TaskFilter): Promise<Task[]> {
  const select = filterTasks(db, filter).selectAll().orderBy('position')
  return (filter.limit === undefined ? select : select.limit(filter.limit)).execute()
}

/** The condition of a filter. Its limit is not part of it: that needs an order. */
export function filterTasks(db: Kysely<Tables>, filter: TaskFilter): Selecting {
  const { session, states, project, feature, label, text } = filter
  let select: Selecting = db.selectFrom('tasks')
  if (session !== undefined) select = select.where('session_id', '=', session)
  if (states !== undefined) select = select.where('state', 'in', states)
  if (project !== undefined) select = select.where('project', '=', project)
  if (feature !== undefined) select = select.where('feature', '=', feature)
  if (label !== undefined) select = select.where(sql<SqlBool>`labels like ${containing(` ${label} `)} escape '!'`)
  if (text !== undefined) select = select.where(mentions(text))
  if (filter.under !== undefined) select = select.where('id', 'in', taskSubtree(filter.under))
  return select
}

/** A task and all its parts, by id. */
function taskSubtree(task: string): RawBuilder<string> {
  return sql<string>`(with recursive part(id) as (
    select id from tasks where id = ${task}
    union select tasks.id from tasks join part on tasks.parent_id = part.id
  ) select id from part)`
}

/** How many of a scope are in each state. */
async function countTasks(
  db: Kysely<Tables>,
  { project, feature, task }: TaskScope,
): Promise<Partial<Record<TaskState, number>>> {
  const rows = await filterTasks(db, { project, feature, under: task })
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

/** The fields of a task as the API shows it that are columns as they are. */
const PLAIN = [
  ...['id', 'session_id', 'project', 'title', 'description', 'state', 'reason', 'priority', 'attempt', 'created_at'],
  ...['started_at', 'ended_at', 'wakes_at', 'result', 'parent_id', 'feature', 'type', 'verification', 'retries'],
  ...[
    'max_retries',
    'open_blockers',
    'children',
    'children_open',
    'children_failed',
    'children_done',
    'run_id',
    'model',
  ],
] as (keyof TaskView)[]

/**
 * Tasks that fit, each as the JSON text that the API sends, in the order of submission. The database writes it: to make objects of ten
 * thousand rows and text of those takes three times as long.
 */
async function listTasksAsJson(db: Kysely<Tables>, json: JsonDifferences, filter: TaskFilter): Promise<string[]> {
  const fields = {
    ...(Object.fromEntries(PLAIN.map(name => [name, `tasks.${name}`])) as Record<keyof TaskView, string>),
    after: json.list('blocker_id', 'task_edges where task_id = tasks.id'),
    labels: json.words('tasks.labels'),
    acceptance: json.lines('tasks.acceptance'),
    paths: json.lines('tasks.paths'),
    budget: json.parsed('tasks.budget'),
  } satisfies Record<keyof TaskView, string>
  const select = filterTasks(db, filter)
    .select(sql.raw<string>(json.object(fields)).as('json'))
    .orderBy('position')
  const rows = await (filter.limit === undefined ? select : select.limit(filter.limit)).execute()
  return rows.map(row => row.json)
}
