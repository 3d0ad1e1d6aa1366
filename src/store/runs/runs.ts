import { type Kysely, type SqlBool, sql } from 'kysely'
import { AppError } from '../../base/errors.ts'
import type { Tx } from '../store.ts'
import type { Tables } from '../tables.ts'
import { filtered } from '../tasks/select.ts'
import type { Writer } from '../writer.ts'
import type { AttemptRow, RunRow, RunsTable } from './rows.ts'
import type { Runs } from './shapes.ts'

const MATCHES_SHOWN = 8

/** Opens the tables of runs and of their attempts. */
export function openRuns(read: Kysely<Tables>, writer: Writer): Runs {
  const write = <T>(tx: Tx | undefined, work: (db: Kysely<Tables>) => Promise<T>) =>
    tx ? work(tx.db) : writer.transaction(own => work(own.db))
  return {
    insert: async (row, { db }) => {
      await db.insertInto('runs').values(columnsOf(row)).execute()
    },
    update: (id, patch, tx) =>
      write(tx, async db => {
        await db.updateTable('runs').set(columnsOf(patch)).where('id', '=', id).execute()
      }),
    get: async (id, tx) => {
      const row = await (tx?.db ?? read).selectFrom('runs').selectAll().where('id', '=', id).executeTakeFirst()
      return row && fromColumns(row)
    },
    list: ({ project, open } = {}, tx) => list(tx?.db ?? read, { project, open }),
    resolve: ref => resolve(read, ref),
    begin: async (attempt, { db }) => {
      await db.insertInto('attempts').values(attempt).execute()
    },
    end: async ({ task_id, number }, patch, { db }) => {
      const mine = db.updateTable('attempts').set(patch).where('task_id', '=', task_id).where('number', '=', number)
      return (await mine.where('outcome', 'is', null).executeTakeFirst()).numUpdatedRows === 1n
    },
    attempts: (of, tx) => attempts(tx?.db ?? read, of),
    withOpenAttempts: async () => {
      const open = read.selectFrom('attempts').select('run_id').distinct().where('outcome', 'is', null)
      return (await open.execute()).map(({ run_id }) => run_id)
    },
    unverified: async ({ project, feature, task }) => {
      const done = filtered(read, { project, feature, under: task, states: ['done'] })
      const counted = done.where('verification', '=', 'unverified').select(eb => eb.fn.countAll<number>().as('count'))
      return Number((await counted.executeTakeFirst())?.count ?? 0)
    },
  }
}

async function list(
  db: Kysely<Tables>,
  { project, open }: { project: string | undefined; open: boolean | undefined },
): Promise<RunRow[]> {
  let select = db.selectFrom('runs').selectAll()
  if (project !== undefined) select = select.where('project', '=', project)
  if (open) select = select.where('state', '!=', 'ended')
  return (await select.orderBy('created_at', 'desc').orderBy('id').execute()).map(fromColumns)
}

async function resolve(db: Kysely<Tables>, ref: string): Promise<RunRow> {
  const length = [...ref].length
  const fits = sql<SqlBool>`substr(id, 1, ${length}) = ${ref} or substr(id, 3, ${length}) = ${ref}`
  const found = await db
    .selectFrom('runs')
    .selectAll()
    .where(fits)
    .orderBy('created_at', 'desc')
    .limit(MATCHES_SHOWN)
    .execute()
  const whole = found.find(({ id }) => id === ref || id === `r-${ref}`)
  const [only, ...others] = whole ? [whole] : ref === '' ? [] : found
  if (!only) throw new AppError('run_unknown', { ref })
  if (others.length > 0) throw new AppError('run_ambiguous', { ref, matches: found.map(({ id }) => id).join(', ') })
  return fromColumns(only)
}

async function attempts(
  db: Kysely<Tables>,
  { run, task, session }: { run?: string; task?: string; session?: string },
): Promise<AttemptRow[]> {
  let select = db.selectFrom('attempts').selectAll()
  if (run !== undefined) select = select.where('run_id', '=', run)
  if (task !== undefined) select = select.where('task_id', '=', task)
  if (session !== undefined) select = select.where('session_id', '=', session)
  return select.orderBy('started_at').orderBy('number').execute()
}

function fromColumns({ target, options, stopping, ...plain }: RunsTable): RunRow {
  return { ...plain, target: JSON.parse(target), options: JSON.parse(options), stopping: stopping === 1 }
}

function columnsOf(row: RunRow): RunsTable
function columnsOf(row: Partial<RunRow>): Partial<RunsTable>
function columnsOf({ target, options, stopping, ...plain }: Partial<RunRow>): Partial<RunsTable> {
  return {
    ...plain,
    ...(target && { target: JSON.stringify(target) }),
    ...(options && { options: JSON.stringify(options) }),
    ...(stopping !== undefined && { stopping: stopping ? 1 : 0 }),
  }
}
