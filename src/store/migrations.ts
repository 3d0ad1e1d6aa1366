import { firstSchema } from './first-schema.ts'
import type { Migration } from './migrate.ts'

/** All migrations, in the order of their numbers. A new one goes to the end with the next number. */
export const MIGRATIONS: readonly Migration[] = [firstSchema]

/** The schema number that this program reads and writes. */
export const SCHEMA = MIGRATIONS.at(-1)?.number ?? 0
