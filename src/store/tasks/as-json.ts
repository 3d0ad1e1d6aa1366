import { type Kysely, sql } from 'kysely'
import type { TaskView } from '../../domain/task.ts'
import type { JsonDifferences } from '../database/database.ts'
import type { Tables } from '../tables.ts'
import { filtered } from './select.ts'
import type { TaskFilter } from './shapes.ts'

/** The fields of a task as the API shows it that are columns as they are. */
const PLAIN = [
  ...['id', 'session_id', 'project', 'title', 'description', 'state', 'reason', 'priority', 'attempt', 'created_at'],
  ...['started_at', 'ended_at', 'wakes_at', 'result', 'parent_id', 'feature', 'type', 'verification', 'retries'],
  ...[
    'max_retries',
    'open_blockers',
    'children',
    'children_open',
    'children_failed',
    'children_done',
    'run_id',
    'model',
  ],
] as (keyof TaskView)[]

/**
 * Tasks that fit, each as the JSON text that the API sends, in the order of submission. The database writes it: to make objects of ten
 * thousand rows and text of those takes three times as long.
 */
export async function listedAsJson(db: Kysely<Tables>, json: JsonDifferences, filter: TaskFilter): Promise<string[]> {
  const fields = {
    ...(Object.fromEntries(PLAIN.map(name => [name, `tasks.${name}`])) as Record<keyof TaskView, string>),
    after: json.list('blocker_id', 'task_edges where task_id = tasks.id'),
    labels: json.words('tasks.labels'),
    acceptance: json.lines('tasks.acceptance'),
    paths: json.lines('tasks.paths'),
    budget: json.parsed('tasks.budget'),
  } satisfies Record<keyof TaskView, string>
  const select = filtered(db, filter)
    .select(sql.raw<string>(json.object(fields)).as('json'))
    .orderBy('position')
  const rows = await (filter.limit === undefined ? select : select.limit(filter.limit)).execute()
  return rows.map(row => row.json)
}
