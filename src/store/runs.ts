import { type Kysely, type SqlBool, sql } from 'kysely'
import { AppError } from '../base/errors.ts'
import type { Tx } from './store.ts'
import type { AttemptRow, RunRow, RunsTable, ScheduleRow, SchedulesTable, Tables } from './tables.ts'
import type { DoneAttempt, ModelCost, RunFilter, RunStore, ScheduleStore } from './task-stores.ts'
import { filterOfScope, filterTasks } from './tasks.ts'
import type { Writer } from './writer.ts'

const MATCHES_SHOWN = 8

/** Opens the tables of runs and of their attempts. */
export function openRunStore(read: Kysely<Tables>, writer: Writer): RunStore {
  const write = <T>(tx: Tx | undefined, work: (db: Kysely<Tables>) => Promise<T>) =>
    tx ? work(tx.db) : writer.transaction(own => work(own.db))
  return {
    insert: async (row, { db }) => {
      await db.insertInto('runs').values(runColumns(row)).execute()
    },
    update: (id, patch, tx) =>
      write(tx, async db => {
        await db.updateTable('runs').set(runColumns(patch)).where('id', '=', id).execute()
      }),
    get: async (id, tx) => {
      const row = await (tx?.db ?? read).selectFrom('runs').selectAll().where('id', '=', id).executeTakeFirst()
      return row && parseRun(row)
    },
    list: async ({ limit, ...filter } = {}, tx) => {
      const select = filterRuns(tx?.db ?? read, filter)
        .selectAll()
        .orderBy('created_at', 'desc')
        .orderBy('id')
      return (await (limit === undefined ? select : select.limit(limit)).execute()).map(parseRun)
    },
    count: async (filter = {}) => {
      const counted = filterRuns(read, filter).select(({ fn }) => fn.countAll<number>().as('count'))
      return Number((await counted.executeTakeFirst())?.count ?? 0)
    },
    resolve: ref => resolve(read, ref),
    begin: async (attempt, { db }) => {
      await db.insertInto('attempts').values(attempt).execute()
    },
    end: async ({ task_id, number }, patch, { db }) => {
      const update = db.updateTable('attempts').set(patch).where('task_id', '=', task_id).where('number', '=', number)
      return (await update.where('outcome', 'is', null).executeTakeFirst()).numUpdatedRows === 1n
    },
    costs: () => meanCosts(read),
    doneAttempts: run => listDoneAttempts(read, run),
    attempts: (filter, tx) => listAttempts(tx?.db ?? read, filter),
    withOpenAttempts: async () => {
      const open = read.selectFrom('attempts').select('run_id').distinct().where('outcome', 'is', null)
      return (await open.execute()).map(({ run_id }) => run_id)
    },
    unverified: async scope => {
      const done = filterTasks(read, { ...filterOfScope(scope), states: ['done'] })
      const counted = done.where('verification', '=', 'unverified').select(eb => eb.fn.countAll<number>().as('count'))
      return Number((await counted.executeTakeFirst())?.count ?? 0)
    },
  }
}

function filterRuns(db: Kysely<Tables>, { project, open, since }: RunFilter) {
  let select = db.selectFrom('runs')
  if (project !== undefined) select = select.where('project', '=', project)
  if (open) select = select.where('state', '!=', 'ended')
  if (since !== undefined)
    select = select.where(({ eb, or }) => or([eb('ended_at', 'is', null), eb('ended_at', '>=', since)]))
  return select
}

async function resolve(db: Kysely<Tables>, ref: string): Promise<RunRow> {
  const length = [...ref].length
  const matches = sql<SqlBool>`substr(id, 1, ${length}) = ${ref} or substr(id, 3, ${length}) = ${ref}`
  const rows = await db
    .selectFrom('runs')
    .selectAll()
    .where(matches)
    .orderBy('created_at', 'desc')
    .limit(MATCHES_SHOWN)
    .execute()
  const exact = rows.find(({ id }) => id === ref || id === `r-${ref}`)
  const [only, ...others] = exact ? [exact] : ref === '' ? [] : rows
  if (!only) throw new AppError('run_unknown', { ref })
  if (others.length > 0) throw new AppError('run_ambiguous', { ref, matches: rows.map(({ id }) => id).join(', ') })
  return parseRun(only)
}

/** Older attempts say less: models and prices change. */
const NEWEST = 500

function meanCosts(db: Kysely<Tables>): Promise<ModelCost[]> {
  const newest = db
    .selectFrom('attempts')
    .select(['model', 'session_id', 'cost_usd'])
    .where('outcome', '=', 'done')
    .where('cost_usd', '>', 0)
    .orderBy('started_at', 'desc')
    .limit(NEWEST)
    .as('a')
  return db
    .selectFrom(newest)
    .leftJoin('sessions as s', 's.id', 'a.session_id')
    .select(({ fn }) => ['a.model', 's.model as answered', fn.countAll<number>().as('attempts')])
    .select(({ fn }) => fn.avg<number>('a.cost_usd').as('cost_usd'))
    .groupBy(['a.model', 's.model'])
    .execute()
}

/** One statement, because a run of many tasks is looked at several times for each of them. */
async function listDoneAttempts(db: Kysely<Tables>, run: string): Promise<DoneAttempt[]> {
  const rows = await db
    .selectFrom('attempts as a')
    .innerJoin('worktrees as w', join => join.onRef('w.task', '=', 'a.task_id').onRef('w.attempt', '=', 'a.number'))
    .leftJoin('merges as m', join =>
      join.onRef('m.task_id', '=', 'a.task_id').onRef('m.attempt', '=', 'a.number').on('m.state', '=', 'merged'),
    )
    .where('a.run_id', '=', run)
    .where('a.outcome', '=', 'done')
    .groupBy(['a.task_id', 'a.number', 'w.base'])
    .select(({ fn }) => ['a.task_id', 'a.number', 'w.base', fn.count<number>('m.id').as('merges')])
    .select(({ fn, eb }) => fn.count<number>(eb.case().when('m.head', '=', eb.ref('w.base')).then(1).end()).as('empty'))
    .execute()
  return rows.map(({ task_id, number, merges, empty }) => ({
    ...{ task_id, number },
    as: Number(empty) > 0 ? 'nothing' : Number(merges) > 0 ? 'merged' : 'unmerged',
  }))
}

async function listAttempts(
  db: Kysely<Tables>,
  { run, task, session }: { run?: string; task?: string; session?: string },
): Promise<AttemptRow[]> {
  let select = db.selectFrom('attempts').selectAll()
  if (run !== undefined) select = select.where('run_id', '=', run)
  if (task !== undefined) select = select.where('task_id', '=', task)
  if (session !== undefined) select = select.where('session_id', '=', session)
  return select.orderBy('started_at').orderBy('number').execute()
}

function parseRun({ target, options, stopping, ...plain }: RunsTable): RunRow {
  return { ...plain, target: JSON.parse(target), options: JSON.parse(options), stopping: stopping === 1 }
}

function runColumns(row: RunRow): RunsTable
function runColumns(row: Partial<RunRow>): Partial<RunsTable>
function runColumns({ target, options, stopping, ...plain }: Partial<RunRow>): Partial<RunsTable> {
  return {
    ...plain,
    ...(target && { target: JSON.stringify(target) }),
    ...(options && { options: JSON.stringify(options) }),
    ...(stopping !== undefined && { stopping: stopping ? 1 : 0 }),
  }
}

/** Opens the table of scheduled runs. */
export function openScheduleStore(read: Kysely<Tables>): ScheduleStore {
  return {
    insert: async (row, { db }) => {
      await db.insertInto('schedules').values(scheduleColumns(row)).execute()
    },
    move: async ({ id, due_at }, patch, { db }) => {
      const waiting = db
        .updateTable('schedules')
        .set(scheduleColumns(patch))
        .where('id', '=', id)
        .where('state', '=', 'waiting')
      const update = due_at === null ? waiting.where('due_at', 'is', null) : waiting.where('due_at', '=', due_at)
      return (await update.executeTakeFirst()).numUpdatedRows === 1n
    },
    get: async (id, tx) => {
      const row = await (tx?.db ?? read).selectFrom('schedules').selectAll().where('id', '=', id).executeTakeFirst()
      return row && parseSchedule(row)
    },
    list: async ({ project, waiting } = {}, tx) => {
      let select = (tx?.db ?? read).selectFrom('schedules').selectAll()
      if (project !== undefined) select = select.where('project', '=', project)
      if (waiting) select = select.where('state', '=', 'waiting')
      const rows = await select.orderBy('due_at').orderBy('created_at', 'desc').orderBy('id').execute()
      const all = rows.map(parseSchedule)
      return [...all.filter(({ state }) => state === 'waiting'), ...all.filter(({ state }) => state !== 'waiting')]
    },
  }
}

function parseSchedule({ target, options, ...plain }: SchedulesTable): ScheduleRow {
  return { ...plain, target: JSON.parse(target), options: JSON.parse(options) }
}

function scheduleColumns(row: ScheduleRow): SchedulesTable
function scheduleColumns(row: Partial<ScheduleRow>): Partial<SchedulesTable>
function scheduleColumns({ target, options, ...plain }: Partial<ScheduleRow>): Partial<SchedulesTable> {
  return {
    ...plain,
    ...(target && { target: JSON.stringify(target) }),
    ...(options && { options: JSON.stringify(options) }),
  }
}
