import { sql } from 'kysely'
import type { Migration } from '../migration.ts'

/** One table of remembered answers, to questions too; one decision for several sessions; priority, context and deadline. */
export const rememberedAndShared: Migration = {
  name: 'remembered questions and shared decisions',
  async up(db, { columns }) {
    const escalations = () => db.schema.alterTable('escalations')
    await escalations()
      .addColumn('priority', columns.integer, column => column.notNull().defaultTo(0))
      .execute()
    await escalations()
      .addColumn('context', 'text', column => column.notNull().defaultTo('{}'))
      .execute()
    await escalations().addColumn('dedup_key', 'text').execute()
    await escalations().addColumn('deadline', columns.integer).execute()
    await escalations()
      .addColumn('on_deadline', 'text', column => column.notNull().defaultTo('keep_waiting'))
      .execute()
    // The same question of a project is open once, whoever writes.
    await db.schema
      .createIndex('escalations_shared')
      .on('escalations')
      .column('dedup_key')
      .unique()
      .where(sql.ref('state'), '=', sql.lit('open'))
      .execute()
    await db.schema
      .createIndex('escalations_deadline')
      .on('escalations')
      .column('deadline')
      .where(sql.ref('state'), '=', sql.lit('open'))
      .execute()

    await db.schema
      .createTable('escalation_sessions')
      .addColumn('number', columns.integer, column => column.notNull())
      .addColumn('session_id', 'text', column => column.notNull())
      .addColumn('call_id', 'text', column => column.notNull())
      .addPrimaryKeyConstraint('escalation_sessions_key', ['number', 'session_id'])
      .execute()
    await db.schema
      .createIndex('escalation_sessions_session')
      .on('escalation_sessions')
      .columns(['session_id', 'number'])
      .execute()
    await sql`
      insert into escalation_sessions (number, session_id, call_id)
      select number, session_id, call_id from escalations`.execute(db)

    // A verdict may be absent now, and no database lets a column forget that it may not: the table is made anew.
    await db.schema
      .createTable('answers_anew')
      .addColumn('id', 'text', column => column.primaryKey().notNull())
      .addColumn('kind', 'text', column => column.notNull())
      .addColumn('project', 'text', column => column.notNull())
      .addColumn('fingerprint', 'text', column => column.notNull())
      .addColumn('tool', 'text', column => column.notNull())
      .addColumn('normalised', 'text', column => column.notNull())
      .addColumn('asked', 'text', column => column.notNull())
      .addColumn('verdict', 'text')
      .addColumn('answer', 'text')
      .addColumn('by', 'text', column => column.notNull())
      .addColumn('answered_at', columns.integer, column => column.notNull())
      .addColumn('session_id', 'text')
      .addColumn('lasting', columns.integer, column => column.notNull())
      .execute()
    await sql`
      insert into answers_anew
        (id, kind, project, fingerprint, tool, normalised, asked, verdict, "by", answered_at, lasting)
      select 'a-' || row_number() over (order by answered_at, project, fingerprint),
             'permission', project, fingerprint, tool, normalised, normalised, verdict, "by", answered_at, 0
        from answers`.execute(db)
    await db.schema.dropTable('answers').execute()
    await db.schema.alterTable('answers_anew').renameTo('answers').execute()
    await db.schema.createIndex('answers_request').on('answers').columns(['project', 'fingerprint']).unique().execute()
  },
}
