import type { Kysely } from 'kysely'
import type { Evidence, NewEvidence } from '../../domain/workspace/evidence.ts'
import type { Tables } from '../tables.ts'
import type { EvidenceTable } from './rows.ts'
import type { EvidenceRows } from './shapes.ts'

type Stored = Omit<EvidenceTable, 'id'> & { id: number }

/** Opens the table of what gates saw. */
export function openEvidence(read: Kysely<Tables>): EvidenceRows {
  return {
    put: async ({ task_id, attempt, round }, rows, { db }) => {
      const before = db.deleteFrom('evidence').where('task_id', '=', task_id).where('attempt', '=', attempt)
      await before.where('round', '=', round).execute()
      // One by one: a row may hold thousands of tests, and there are few.
      for (const row of rows) await db.insertInto('evidence').values(columnsOf(row)).execute()
    },
    list: async ({ task, attempt, round }, tx) => {
      let select = (tx?.db ?? read).selectFrom('evidence').selectAll().where('task_id', '=', task)
      if (attempt !== undefined) select = select.where('attempt', '=', attempt)
      if (round !== undefined) select = select.where('round', '=', round)
      return (await select.orderBy('id').execute()).map(fromColumns)
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
      return (await rows.orderBy('id').execute()).map(fromColumns)
    },
  }
}

function columnsOf({ findings, tests, cached, ...plain }: NewEvidence): Omit<EvidenceTable, 'id'> {
  return {
    ...plain,
    findings: JSON.stringify(findings),
    tests: tests === null ? null : JSON.stringify(tests),
    cached: cached ? 1 : 0,
  }
}

function fromColumns({ findings, tests, cached, ...plain }: Stored): Evidence {
  return {
    ...plain,
    findings: listIn(findings) ?? [],
    tests: tests === null ? null : (listIn(tests) ?? null),
    cached: cached === 1,
  }
}

/** A row that was saved from a damaged file may hold anything. */
function listIn<T>(text: string): T[] | undefined {
  try {
    const list: unknown = JSON.parse(text)
    return Array.isArray(list) ? (list as T[]) : undefined
  } catch {
    return undefined
  }
}
