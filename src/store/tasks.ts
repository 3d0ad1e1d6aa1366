import { type Kysely, type RawBuilder, type SelectQueryBuilder, type SqlBool, sql } from 'kysely'
import { BEGUN_STATES, type Task, type TaskScope, type TaskState, type TaskView } from '../domain/task.ts'
import type { Database, JsonDifferences } from './database.ts'
import type { Tables } from './tables.ts'
import { prepareTaskStatements } from './task-statements.ts'
import type { TaskEdge, TaskFilter, TaskStore } from './task-stores.ts'

type TaskDatabase = Pick<Database, 'read' | 'readRows' | 'differences'>

/** Opens the tables of tasks and their dependencies. `src/tasks` decides which moves are allowed. */
export function openTaskStore({ read, readRows, differences }: TaskDatabase): TaskStore {
  const { json } = differences
  const hot = prepareTaskStatements(read)
  const oneAsJson = selectJson(read, json, { ids: [''] }).compile().sql
  return {
    insert: hot.insert,
    get: async (id, tx) =>
      tx ? hot.get(id, tx) : read.selectFrom('tasks').selectAll().where('id', '=', id).executeTakeFirst(),
    of: (ids, tx) =>
      inBatches(ids, batch => (tx?.db ?? read).selectFrom('tasks').selectAll().where('id', 'in', batch).execute()),
    beginning: (prefix, tx) => findByPrefix(tx?.db ?? read, prefix),
    named: (alias, tx) =>
      (tx?.db ?? read).selectFrom('tasks').selectAll().where('alias', '=', alias).orderBy('position').execute(),
    list: (filter, tx) => listTasks(tx?.db ?? read, filter),
    listAsJson: (filter, tx) => listTasksAsJson(tx?.db ?? read, json, filter),
    asJson: async (id, tx) => {
      const [row] = (await (tx ? tx.run(oneAsJson, [id]) : readRows(oneAsJson, [id]))) as { json: string }[]
      return row?.json
    },
    edges: (filter, tx) =>
      (tx?.db ?? read)
        .selectFrom('task_edges')
        .selectAll()
        .where('task_id', 'in', filterTasks(tx?.db ?? read, filter).select('id'))
        .execute(),
    counts: (scope, tx) => countTasks(tx?.db ?? read, scope),
    countsByProject: () => countByProject(read),
    next: hot.next,
    nextFree: async (scope, tx) =>
      scope.task === undefined ? hot.nextFree(scope, tx) : findNextUnder(tx.db, scope.task),
    free: (scope, limit, tx) => listFree(tx.db, scope, limit),
    held: (by, tx) => listHeld(tx?.db ?? read, by),
    atWork: (session, tx) => findAtWork(tx?.db ?? read, session),
    swap: hot.swap,
    link: (edge, tx) => link(tx.db, edge),
    unlink: async ({ task_id, blocker_id }, { db }) => {
      const edge = db.deleteFrom('task_edges').where('task_id', '=', task_id).where('blocker_id', '=', blocker_id)
      return (await edge.executeTakeFirst()).numDeletedRows === 1n
    },
    blockersOf: (ids, tx) =>
      inBatches(ids, batch =>
        (tx?.db ?? read)
          .selectFrom('task_edges')
          .selectAll()
          .where('task_id', 'in', batch)
          .orderBy('task_id')
          .orderBy('blocker_id')
          .execute(),
      ),
    dependentsOf: async (id, tx) => (tx ? hot.dependentsOf(id, tx) : listDependents(read, id)),
    childrenOf: (ids, tx) =>
      inBatches(ids, batch =>
        (tx?.db ?? read).selectFrom('tasks').selectAll().where('parent_id', 'in', batch).orderBy('position').execute(),
      ),
    remove: async (ids, { db }) => {
      await inBatches(ids, async batch => {
        await db
          .deleteFrom('task_edges')
          .where(edge => edge.or([edge('task_id', 'in', batch), edge('blocker_id', 'in', batch)]))
          .execute()
        await db.deleteFrom('tasks').where('id', 'in', batch).execute()
        return []
      })
    },
  }
}

const MATCHES_SHOWN = 9

function findByPrefix(db: Kysely<Tables>, prefix: string): Promise<Task[]> {
  return db
    .selectFrom('tasks')
    .selectAll()
    .where('id', '>=', prefix)
    .where('id', '<', `${prefix}~`)
    .orderBy('id')
    .limit(MATCHES_SHOWN)
    .execute()
}

/** One task has few parts, so they are found recursively and then sorted. */
async function findNextUnder(db: Kysely<Tables>, task: string): Promise<Task | undefined> {
  return (await listFree(db, { project: '', task }, 1))[0]
}

function listFree(db: Kysely<Tables>, { project, feature, task }: TaskScope, limit: number): Promise<Task[]> {
  let ready = db.selectFrom('tasks').selectAll().where('state', '=', sql.lit('ready')).where('session_id', 'is', null)
  if (task !== undefined) ready = ready.where('id', 'in', taskSubtree(task))
  else ready = ready.where('project', '=', project)
  if (task === undefined && feature !== undefined) ready = ready.where('feature', '=', feature)
  return ready.orderBy('priority', 'desc').orderBy('position').limit(limit).execute()
}

function listHeld(db: Kysely<Tables>, { run, owner }: { run?: string | undefined; owner?: string | undefined }) {
  let select = db.selectFrom('tasks').selectAll().where('lease_owner', 'is not', null)
  if (run !== undefined) select = select.where('run_id', '=', run)
  if (owner !== undefined) select = select.where('lease_owner', '=', owner)
  return select.orderBy('position').execute()
}

function findAtWork(db: Kysely<Tables>, session: string): Promise<Task | undefined> {
  return (
    db
      .selectFrom('tasks')
      .selectAll()
      .where('session_id', '=', session)
      // A session has few tasks, so they are scanned: an index on this would be written with every claim and every finish.
      .where('state', 'in', BEGUN_STATES)
      .orderBy(sql`case state when 'waiting' then 1 else 0 end`)
      .orderBy('position')
      .limit(1)
      .executeTakeFirst()
  )
}

/** Returns true if the edge is new. */
async function link(db: Kysely<Tables>, edge: TaskEdge): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('task_edges')
    .values(edge)
    .onConflict(same => same.columns(['task_id', 'blocker_id']).doNothing())
    .executeTakeFirst()
  return numInsertedOrUpdatedRows === 1n
}

/** A database may refuse a statement with many more variables. */
const IDS_AT_ONCE = 500

export async function inBatches<T>(
  ids: readonly string[],
  work: (batch: readonly string[]) => Promise<T[]>,
): Promise<T[]> {
  const all: T[] = []
  for (let from = 0; from < ids.length; from += IDS_AT_ONCE)
    all.push(...(await work(ids.slice(from, from + IDS_AT_ONCE))))
  return all
}

function listDependents(db: Kysely<Tables>, id: string): Promise<Task[]> {
  return db
    .selectFrom('task_edges')
    .innerJoin('tasks', 'tasks.id', 'task_edges.task_id')
    .selectAll('tasks')
    .where('task_edges.blocker_id', '=', id)
    .orderBy('position')
    .execute()
}

type TaskQuery = SelectQueryBuilder<Tables, 'tasks', object>

/** The tasks that match, in the order of submission. */
function listTasks(db: Kysely<Tables>, filter: TaskFilter): Promise<Task[]> {
  const select = filterTasks(db, filter).selectAll().orderBy('position')
  return (filter.limit === undefined ? select : select.limit(filter.limit)).execute()
}

/** A query with the conditions of a filter, but without its limit, which needs an order. */
export function filterTasks(db: Kysely<Tables>, filter: TaskFilter): TaskQuery {
  const { ids, session, states, project, feature, label, text } = filter
  let select: TaskQuery = db.selectFrom('tasks')
  if (ids !== undefined) select = select.where('id', 'in', ids)
  if (filter.after !== undefined) select = select.where('position', '>', filter.after)
  if (session !== undefined) select = select.where('session_id', '=', session)
  if (states !== undefined) select = select.where('state', 'in', states)
  if (project !== undefined) select = select.where('project', '=', project)
  if (feature !== undefined) select = select.where('feature', '=', feature)
  if (label !== undefined) select = select.where(sql<SqlBool>`labels like ${likePattern(` ${label} `)} escape '!'`)
  if (text !== undefined) select = select.where(mentions(text))
  if (filter.under !== undefined) select = select.where('id', 'in', taskSubtree(filter.under))
  if (filter.ofRuns)
    select = select.where(task => task.or([task('session_id', 'is', null), task('run_id', 'is not', null)]))
  return select
}

/** The tasks that a run of this scope works through and counts. A task that a person named counts wherever it is. */
export function filterOfScope({ project, feature, task }: TaskScope): TaskFilter {
  return { project, feature, under: task, ofRuns: task === undefined }
}

/** The ids of a task and all its parts. */
function taskSubtree(task: string): RawBuilder<string> {
  return sql<string>`(with recursive part(id) as (
    select id from tasks where id = ${task}
    union select tasks.id from tasks join part on tasks.parent_id = part.id
  ) select id from part)`
}

/** How many tasks of a scope are in each state. */
async function countTasks(db: Kysely<Tables>, scope: TaskScope): Promise<Partial<Record<TaskState, number>>> {
  const rows = await filterTasks(db, filterOfScope(scope))
    .select(['state', eb => eb.fn.countAll<number>().as('count')])
    .groupBy('state')
    .execute()
  return Object.fromEntries(rows.map(({ state, count }) => [state, Number(count)]))
}

async function countByProject(db: Kysely<Tables>): Promise<Map<string, Partial<Record<TaskState, number>>>> {
  const rows = await db
    .selectFrom('tasks')
    .select(['project', 'state', eb => eb.fn.countAll<number>().as('count')])
    .groupBy(['project', 'state'])
    .execute()
  const projects = Map.groupBy(rows, ({ project }) => project)
  return new Map(
    [...projects].map(([project, of]) => [
      project,
      Object.fromEntries(of.map(({ state, count }) => [state, Number(count)])),
    ]),
  )
}

/** Matches the text as typed, and in lower case: databases lower-case only ASCII letters. */
function mentions(text: string): RawBuilder<SqlBool> {
  const [typed, lower] = [likePattern(text), likePattern(text.toLowerCase())]
  return sql<SqlBool>`(title like ${typed} escape '!' or description like ${typed} escape '!'
    or lower(title) like ${lower} escape '!' or lower(description) like ${lower} escape '!')`
}

function likePattern(text: string): string {
  return `%${text.replace(/[%_!]/g, '!$&')}%`
}

/** The fields of a `TaskView` that are plain columns. */
const PLAIN_FIELDS = [
  ...(['id', 'session_id', 'project', 'title', 'description', 'state', 'reason', 'priority', 'attempt'] as const),
  ...(['created_at', 'started_at', 'ended_at', 'wakes_at', 'result', 'parent_id', 'feature', 'type'] as const),
  ...(['verification', 'retries', 'max_retries', 'open_blockers', 'children', 'children_open'] as const),
  ...(['children_failed', 'children_done', 'run_id', 'model', 'alias'] as const),
] satisfies (keyof TaskView)[]
type PlainField = (typeof PLAIN_FIELDS)[number]

/**
 * The tasks that match as the JSON that the API sends, in the order of submission. The database writes the bytes that are sent:
 * making objects of ten thousand rows and then text takes three times as long, and joining ten thousand texts half as long again.
 */
async function listTasksAsJson(db: Kysely<Tables>, json: JsonDifferences, filter: TaskFilter): Promise<Uint8Array> {
  return (await selectAsJson(db, json, filter).executeTakeFirst())?.bytes ?? new Uint8Array()
}

function selectAsJson(db: Kysely<Tables>, json: JsonDifferences, filter: TaskFilter) {
  const select = selectJson(db, json, filter).orderBy('position')
  const tasks = (filter.limit === undefined ? select : select.limit(filter.limit)).as('listed')
  const joined = sql.raw<Uint8Array | null>(json.joined('json')).as('bytes')
  return db.selectFrom(tasks).select(joined)
}

function selectJson(db: Kysely<Tables>, json: JsonDifferences, filter: TaskFilter) {
  const fields = {
    ...(Object.fromEntries(PLAIN_FIELDS.map(name => [name, `tasks.${name}`])) as Record<PlainField, string>),
    after: json.list('blocker_id', 'task_edges where task_id = tasks.id'),
    labels: json.words('tasks.labels'),
    acceptance: json.lines('tasks.acceptance'),
    paths: json.lines('tasks.paths'),
    budget: json.parsed('tasks.budget'),
  } satisfies Record<keyof TaskView, string>
  return filterTasks(db, filter).select(sql.raw<string>(json.object(fields)).as('json'))
}
