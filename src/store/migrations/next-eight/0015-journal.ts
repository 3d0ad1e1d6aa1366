import { sql } from 'kysely'
import type { Migration } from '../migration.ts'

/** What an attempt leaves behind for those after it, and an index by its words. */
export const journal: Migration = {
  name: 'journal',
  async up(db, { columns, wordIndex }) {
    const zero = db.schema
      .alterTable('attempts')
      .addColumn('files_more', columns.integer, column => column.notNull().defaultTo(0))
    await zero.execute()
    for (const [name, begins] of Object.entries({ title: '', files: '[]' })) {
      const plain = db.schema
        .alterTable('attempts')
        .addColumn(name, 'text', column => column.notNull().defaultTo(begins))
      await plain.execute()
    }
    for (const name of ['feature', 'notes']) await db.schema.alterTable('attempts').addColumn(name, 'text').execute()
    // Those that are over already keep what is known of them.
    await sql`update attempts set
      title = coalesce((select title from tasks where tasks.id = attempts.task_id), ''),
      feature = (select feature from tasks where tasks.id = attempts.task_id),
      notes = substr(result, 1, 2000)`.execute(db)
    await sql`create index attempts_ended on attempts (run_id, ended_at)`.execute(db)
    const index = {
      name: 'journal_words',
      table: 'attempts',
      keys: ['task_id', 'number'],
      columns: ['title', 'notes', 'reason', 'files'],
      once: 'outcome',
    }
    for (const statement of wordIndex(index)) await sql.raw(statement).execute(db)
  },
}
