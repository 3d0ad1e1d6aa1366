import type { Kysely } from 'kysely'
import type { Evidence, NewEvidence } from '../domain/evidence.ts'
import { OPEN_MERGES } from '../domain/merge.ts'
import type { Tx } from './database.ts'
import type { EvidenceTable, GateResult, GateResultsTable, Tables } from './tables.ts'
import type { EvidenceStore, GateResultStore, MergeFilter, MergeStore, WorktreeStore } from './task-stores.ts'
import type { Writer } from './writer.ts'

/** Opens the table of worktrees. */
export function openWorktreeStore(read: Kysely<Tables>, writer: Writer): WorktreeStore {
  const write = async (work: (db: Kysely<Tables>) => Promise<unknown>, tx: Tx | undefined) => {
    await (tx ? work(tx.db) : writer.transaction(own => work(own.db)))
  }
  return {
    put: ({ task, attempt, ...rest }, tx) =>
      write(
        db =>
          db
            .insertInto('worktrees')
            .values({ task, attempt, ...rest })
            .onConflict(conflict => conflict.columns(['task', 'attempt']).doUpdateSet(rest))
            .execute(),
        tx,
      ),
    update: ({ task, attempt }, patch, tx) =>
      write(
        db => db.updateTable('worktrees').set(patch).where('task', '=', task).where('attempt', '=', attempt).execute(),
        tx,
      ),
    get: ({ task, attempt }, tx) =>
      (tx?.db ?? read)
        .selectFrom('worktrees')
        .selectAll()
        .where('task', '=', task)
        .where('attempt', '=', attempt)
        .executeTakeFirst(),
    list: async ({ project, task, repository, states } = {}, tx) => {
      let select = (tx?.db ?? read).selectFrom('worktrees').selectAll()
      if (project !== undefined) select = select.where('project', '=', project)
      if (task !== undefined) select = select.where('task', '=', task)
      if (repository !== undefined) select = select.where('repository', '=', repository)
      if (states) select = select.where('state', 'in', [...states])
      return select.orderBy('created_at', 'desc').orderBy('task').orderBy('attempt', 'desc').execute()
    },
  }
}

type StoredEvidence = Omit<EvidenceTable, 'id'> & { id: number }

/** Opens the table of gate results per verification. */
export function openEvidenceStore(read: Kysely<Tables>): EvidenceStore {
  return {
    put: async ({ task_id, attempt, round }, rows, { db }) => {
      const before = db.deleteFrom('evidence').where('task_id', '=', task_id).where('attempt', '=', attempt)
      await before.where('round', '=', round).execute()
      // One by one, because a row may hold thousands of tests and there are few rows.
      for (const row of rows) await db.insertInto('evidence').values(evidenceColumns(row)).execute()
    },
    list: async ({ task, attempt, round }, tx) => {
      let select = (tx?.db ?? read).selectFrom('evidence').selectAll().where('task_id', '=', task)
      if (attempt !== undefined) select = select.where('attempt', '=', attempt)
      if (round !== undefined) select = select.where('round', '=', round)
      return (await select.orderBy('id').execute()).map(parseEvidence)
    },
    latest: async (task, tx) => {
      const db = tx?.db ?? read
      const all = db.selectFrom('evidence').where('task_id', '=', task)
      const newest = await all
        .select(['attempt', 'round'])
        .orderBy('attempt', 'desc')
        .orderBy('round', 'desc')
        .limit(1)
        .executeTakeFirst()
      if (!newest) return []
      const rows = all.selectAll().where('attempt', '=', newest.attempt).where('round', '=', newest.round)
      return (await rows.orderBy('id').execute()).map(parseEvidence)
    },
  }
}

function evidenceColumns({ findings, tests, cached, ...plain }: NewEvidence): Omit<EvidenceTable, 'id'> {
  return {
    ...plain,
    findings: JSON.stringify(findings),
    tests: tests === null ? null : JSON.stringify(tests),
    cached: cached ? 1 : 0,
  }
}

function parseEvidence({ findings, tests, cached, ...plain }: StoredEvidence): Evidence {
  return {
    ...plain,
    findings: parseList(findings) ?? [],
    tests: tests === null ? null : (parseList(tests) ?? null),
    cached: cached === 1,
  }
}

/** Parses a JSON list. A row that was rescued from a damaged file may hold anything. */
function parseList<T>(text: string): T[] | undefined {
  try {
    const list: unknown = JSON.parse(text)
    return Array.isArray(list) ? (list as T[]) : undefined
  } catch {
    return undefined
  }
}

/** Opens the table of cached gate results. */
export function openGateResultStore(read: Kysely<Tables>, writer: Writer): GateResultStore {
  return {
    get: async key => {
      const row = await read.selectFrom('gate_results').selectAll().where('key', '=', key).executeTakeFirst()
      return row && parseGateResult(row)
    },
    put: result =>
      writer.transaction(async ({ db }) => {
        await db.deleteFrom('gate_results').where('key', '=', result.key).execute()
        await db.insertInto('gate_results').values(gateResultColumns(result)).execute()
      }),
    prune: before =>
      writer.transaction(async ({ db }) => {
        await db.deleteFrom('gate_results').where('created_at', '<', before).execute()
      }),
  }
}

function gateResultColumns({ tests, ...plain }: GateResult): GateResultsTable {
  return { ...plain, tests: tests === null ? null : JSON.stringify(tests) }
}

/** A result that cannot be parsed counts as missing, and the command runs again. */
function parseGateResult({ tests, ...plain }: GateResultsTable): GateResult | undefined {
  try {
    return { ...plain, tests: tests === null ? null : JSON.parse(tests) }
  } catch {
    return undefined
  }
}

/** Opens the table of merges. */
export function openMergeStore(read: Kysely<Tables>): MergeStore {
  return {
    insert: (row, { db }) => db.insertInto('merges').values(row).returningAll().executeTakeFirstOrThrow(),
    move: async ({ id, state }, patch, { db }) => {
      const update = db.updateTable('merges').set(patch).where('id', '=', id).where('state', '=', state)
      return (await update.executeTakeFirst()).numUpdatedRows === 1n
    },
    get: (id, tx) => (tx?.db ?? read).selectFrom('merges').selectAll().where('id', '=', id).executeTakeFirst(),
    open: (task, tx) => {
      const all = (tx?.db ?? read).selectFrom('merges').selectAll().where('task_id', '=', task)
      return all.where('state', 'in', OPEN_MERGES).executeTakeFirst()
    },
    list: async (filter, tx) => (await selectNewestFirst(tx?.db ?? read, filter).execute()).reverse(),
    queues: () => {
      const all = read.selectFrom('merges').select(['repository', 'target']).distinct()
      return all.where('state', 'in', OPEN_MERGES).orderBy('repository').orderBy('target').execute()
    },
    toClean: () => {
      const merged = read.selectFrom('merges').selectAll().where('state', '=', 'merged')
      return merged.where('cleaned_at', 'is', null).orderBy('id').execute()
    },
  }
}

function selectNewestFirst(db: Kysely<Tables>, { project, task, queue, states, limit }: MergeFilter = {}) {
  let select = db.selectFrom('merges').selectAll()
  if (project !== undefined) select = select.where('project', '=', project)
  if (task !== undefined) select = select.where('task_id', '=', task)
  if (queue) select = select.where('repository', '=', queue.repository).where('target', '=', queue.target)
  if (states) select = select.where('state', 'in', states)
  if (limit !== undefined) select = select.limit(limit)
  return select.orderBy('id', 'desc')
}
