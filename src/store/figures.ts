import { type Kysely, sql } from 'kysely'
import type { Migration } from './migrate.ts'
import type { FigureStore, RowCounts, StoreFigures } from './store.ts'
import type { Tables } from './tables.ts'

/**
 * How many rows there are of each kind. This migration is released: to count another table, write a new one. The database keeps the numbers with each
 * change, because counting 100,000 tasks takes longer than a scrape of metrics may.
 */
export const rowCounts: Migration = {
  number: 33,
  name: 'row counts',
  async up(db, { columns, countRows }) {
    await db.schema
      .createTable('row_counts')
      .addColumn('counted', 'text', column => column.notNull())
      .addColumn('kind', 'text', column => column.notNull())
      .addColumn('count', columns.integer, column => column.notNull())
      .addPrimaryKeyConstraint('row_counts_key', ['counted', 'kind'])
      .execute()
    const kinds = { tasks: 'state', attempts: 'outcome', sessions: 'state', ended_sessions: 'ended_as' }
    for (const [counted, column] of Object.entries(kinds)) {
      const table = counted === 'ended_sessions' ? 'sessions' : counted
      for (const statement of countRows({ table, column, counted })) await sql.raw(statement).execute(db)
    }
  },
}

/** The most projects whose queues are looked at, so that a scrape stays short. */
const MOST_PROJECTS = 100

export function openFigureStore(read: Kysely<Tables>): FigureStore {
  return {
    read: async () => {
      const counts = await read.selectFrom('row_counts').selectAll().where('count', '>', 0).execute()
      const of = (counted: string): RowCounts =>
        Object.fromEntries(counts.filter(row => row.counted === counted).map(({ kind, count }) => [kind, count]))
      return {
        tasks: of('tasks'),
        attempts: of('attempts'),
        sessions: of('sessions'),
        ended_sessions: of('ended_sessions'),
        heads: await queueHeads(read),
        escalations: await openEscalations(read),
        incidents: await countIncidents(read),
        spent: await spentEver(read),
        merging: await countMerging(read),
      }
    },
  }
}

/** Of each project, when the task was written down that is taken next: one step in an index for each. */
async function queueHeads(db: Kysely<Tables>): Promise<number[]> {
  const heads: number[] = []
  for (let project = ''; heads.length < MOST_PROJECTS; ) {
    const head = await db
      .selectFrom('tasks')
      .select(['project', 'created_at'])
      .where('state', '=', 'ready')
      .where('session_id', 'is', null)
      .where('project', '>', project)
      .orderBy('project')
      .orderBy('priority', 'desc')
      .orderBy('position')
      .limit(1)
      .executeTakeFirst()
    if (!head) break
    heads.push(head.created_at)
    project = head.project
  }
  return heads
}

function openEscalations(db: Kysely<Tables>): Promise<StoreFigures['escalations']> {
  return db
    .selectFrom('escalations')
    .select(({ fn }) => ['kind', fn.countAll<number>().as('count'), fn.min('created_at').as('oldest')])
    .where('state', '=', 'open')
    .groupBy('kind')
    .execute()
}

async function countIncidents(db: Kysely<Tables>): Promise<number> {
  const open = db.selectFrom('escalations').select(['kind', 'tool', 'input']).where('state', '=', 'open')
  const rows = await open.where('kind', '=', 'error').where('tool', '=', 'session').execute()
  return rows.filter(({ input }) => !input.includes('"guard":')).length
}

async function spentEver(db: Kysely<Tables>): Promise<StoreFigures['spent']> {
  const row = await db
    .selectFrom('spending')
    .select(({ fn }) => [
      fn.coalesce(fn.sum<number>('tokens'), sql<number>`0`).as('tokens'),
      fn.coalesce(fn.sum<number>('cost_usd'), sql<number>`0`).as('cost_usd'),
      fn.coalesce(fn.sum<number>('turns'), sql<number>`0`).as('turns'),
    ])
    .where('scope', '=', 'day')
    .executeTakeFirst()
  return row ?? { tokens: 0, cost_usd: 0, turns: 0 }
}

/** Written as the index of open merges is, so that it is used. */
async function countMerging(db: Kysely<Tables>): Promise<number> {
  const open = sql<{ count: number }>`select count(*) as count from merges
    where state not in ('merged', 'proposed', 'failed', 'aborted')`
  return (await open.execute(db)).rows[0]?.count ?? 0
}
