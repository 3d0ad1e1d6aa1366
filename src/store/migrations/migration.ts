import type { Kysely, QueryExecutorProvider } from 'kysely'
import type { Differences } from '../database/database.ts'

/** One step of the schema. Forward only: a released one is never edited, a mistake is corrected by the next. */
export interface Migration {
  name: string
  up(db: MigrationTx, differences: Differences): Promise<void>
}

/** The schema, and SQL text for rows: a migration must not lean on today's table types, they will have moved on. */
export type MigrationTx = Pick<Kysely<unknown>, 'schema'> & QueryExecutorProvider
