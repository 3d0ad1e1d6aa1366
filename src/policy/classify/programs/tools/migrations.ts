import type { Rules } from '../../call.ts'
import { named, verbs } from '../common/build.ts'

/** Tools that change the shape of databases, and frameworks that bring one along. */
export const MIGRATIONS: Rules = {
  ...named(
    'prisma',
    verbs({
      ofProject: true,
      rows: [
        [
          /^(migrate reset|db push.*|db execute|migrate resolve)/,
          'HIGH',
          'db.destroy',
          'changes or empties a database',
        ],
        [
          /^(generate|validate|format|version|migrate (status|diff))( |$)/,
          'MEDIUM',
          'tool.other',
          'works on the schema',
        ],
      ],
      otherwise: { risk: 'MEDIUM', code: 'db.change', text: 'changes a database' },
      flags: [[/^--(force|force-reset|accept-data-loss|skip-confirm)/, 'HIGH', 'db.destroy', 'loses data']],
    }),
  ),
  ...named(
    'drizzle-kit sequelize sequelize-cli knex typeorm alembic flyway liquibase migrate goose dbmate atlas sqlx diesel rails bin/rails artisan django-admin manage.py supabase hasura mikro-orm node-pg-migrate umzug',
    verbs({
      ofProject: true,
      rows: [
        [
          /(^| )(db:(drop|reset|purge|migrate:reset|rollback|truncate\S*|schema:load|seed:undo\S*|migrate:undo\S*)|drop|reset|clean|dropAll|drop-all|downgrade|undo\S*|down|flush|sqlflush|reset_db|rollback|wipe|migrate:(fresh|reset|rollback|refresh)|db:wipe|schema:drop|database drop|db reset|purge|revert)( |$)/,
          'HIGH',
          'db.destroy',
          'empties or takes back a database',
        ],
        [
          /^(test|spec|runserver|makemigrations|collectstatic|startapp|server|s|generate|g|routes|about|check|--version|status|db:version|db:migrate:status|list|zeitwerk:check|stats|notes|showmigrations|inspectdb|current|history|heads|lint|diff|info|validate)( |$)/,
          'MEDIUM',
          'tool.other',
          'looks at the project',
        ],
        [/^(runner|r|console|c|shell|tinker|dbshell|dbconsole)( |$)/, 'MEDIUM', 'code.inline', 'runs a program text'],
      ],
      otherwise: { risk: 'MEDIUM', code: 'db.change', text: 'may change a database' },
      flags: [
        [
          /^--(force|no-input|noinput|force-reset|accept-data-loss|drop-database)$/,
          'HIGH',
          'db.destroy',
          'skips what would stop it',
        ],
      ],
    }),
  ),
}
