import { sql } from 'kysely'
import type { Migration } from '../migration.ts'

/** What was spent, one row for each task, session, day and project. What sessions spent before is taken over. */
export const budgets: Migration = {
  name: 'budgets',
  async up(db, { columns }) {
    await db.schema
      .createTable('spending')
      .addColumn('scope', 'text', column => column.notNull())
      .addColumn('key', 'text', column => column.notNull())
      .addColumn('turns', columns.integer, column => column.notNull())
      .addColumn('tokens', columns.integer, column => column.notNull())
      .addColumn('cost_usd', columns.real, column => column.notNull())
      .addColumn('wall_minutes', columns.real, column => column.notNull())
      .addColumn('updated_at', columns.integer, column => column.notNull())
      .addPrimaryKeyConstraint('spending_key', ['scope', 'key'])
      .execute()
    await sql`
      insert into spending (scope, key, turns, tokens, cost_usd, wall_minutes, updated_at)
      select 'session', id, turns, input_tokens + output_tokens, cost_usd, 0, created_at from sessions`.execute(db)
    await sql`
      insert into spending (scope, key, turns, tokens, cost_usd, wall_minutes, updated_at)
      select 'project', project, sum(turns), sum(input_tokens + output_tokens), sum(cost_usd), 0, max(created_at)
        from sessions group by project`.execute(db)
  },
}
