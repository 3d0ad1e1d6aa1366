import type { Kysely } from 'kysely'
import type { Tables } from '../tables.ts'
import type { Writer } from '../writer.ts'
import type { GateResult, GateResultsTable } from './rows.ts'
import type { GateResults } from './shapes.ts'

/** Opens the table of results that are kept. */
export function openGateResults(read: Kysely<Tables>, writer: Writer): GateResults {
  return {
    get: async key => {
      const row = await read.selectFrom('gate_results').selectAll().where('key', '=', key).executeTakeFirst()
      return row && fromColumns(row)
    },
    put: result =>
      writer.transaction(async ({ db }) => {
        await db.deleteFrom('gate_results').where('key', '=', result.key).execute()
        await db.insertInto('gate_results').values(columnsOf(result)).execute()
      }),
    prune: before =>
      writer.transaction(async ({ db }) => {
        await db.deleteFrom('gate_results').where('created_at', '<', before).execute()
      }),
  }
}

function columnsOf({ tests, ...plain }: GateResult): GateResultsTable {
  return { ...plain, tests: tests === null ? null : JSON.stringify(tests) }
}

/** One that cannot be read any more is none: the command is run again. */
function fromColumns({ tests, ...plain }: GateResultsTable): GateResult | undefined {
  try {
    return { ...plain, tests: tests === null ? null : JSON.parse(tests) }
  } catch {
    return undefined
  }
}
