import type { Kysely, QueryExecutorProvider } from 'kysely'
import { AppError } from '../base/errors.ts'
import type { Database, DialectDifferences } from './database.ts'

/** One step of the schema. Forward only: a released step is never edited, and a mistake is corrected by the next one. */
export interface Migration {
  /** The schema number after this step. */
  number: number
  name: string
  up(db: MigrationTx, differences: DialectDifferences): Promise<void>
}

/** Schema builder and raw SQL only: a migration must not use the table types, because they change later. */
export type MigrationTx = Pick<Kysely<unknown>, 'schema'> & QueryExecutorProvider

/**
 * Brings the database to the newest schema and returns its number.
 *
 * Several processes may start at once: all steps happen in one exclusive transaction, and the number is read again inside
 * it, so the first process does the work and the others find it done. A crash leaves the old schema intact.
 */
export async function migrate(database: Database, file: string, migrations: readonly Migration[]): Promise<number> {
  const first = migrations[0]?.number ?? 0
  const known = migrations.at(-1)?.number ?? 0
  if ((await database.readSchema(database.read)) === known) return known
  return database.transaction(async tx => {
    const found = await database.readSchema(tx)
    if (found > known) throw new AppError('store_newer', { file, found, known })
    if (found > 0 && found < first) throw new AppError('store_unreleased', { file, found, first })
    for (const migration of migrations) if (migration.number > found) await migration.up(tx, database.differences)
    if (found < known) await database.writeSchema(tx, known)
    return known
  })
}
