import { firstSchema } from './first-schema.ts'
import type { Migration } from './migrate.ts'

/** In order of their numbers. A new one goes to the end with the next number. */
export const MIGRATIONS: readonly Migration[] = [firstSchema]

/** The number of the schema that this program reads and writes. */
export const SCHEMA = MIGRATIONS.at(-1)?.number ?? 0
