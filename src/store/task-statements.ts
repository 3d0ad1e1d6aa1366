import { type Kysely, sql } from 'kysely'
import { AppError } from '../base/errors.ts'
import { shortId } from '../base/ids.ts'
import type { Task, TaskScope, TaskState } from '../domain/task.ts'
import type { Tx } from './store.ts'
import type { Tables } from './tables.ts'
import type { NewTask } from './task-stores.ts'

const READY = sql.lit<TaskState>('ready')
const ONE = sql.lit(1)

/**
 * The statements of every claim and every finish, which run thousands of times a second. Each is built once, and its text
 * runs on the connection itself, because building a statement costs more than running it.
 */
export function prepareTaskStatements(db: Kysely<Tables>) {
  const swaps = new Map<string, string>()
  const inserts = new Map<string, string>()
  const byId = db.selectFrom('tasks').selectAll().where('id', '=', '').compile().sql
  const next = selectFirstReady(db).where('session_id', '=', '').compile().sql
  const free = selectFirstReady(db).where('session_id', 'is', null).where('project', '=', '')
  const nextOfProject = free.compile().sql
  const nextOfFeature = free.where('feature', '=', '').compile().sql
  const dependents = db
    .selectFrom('task_edges')
    .innerJoin('tasks', 'tasks.id', 'task_edges.task_id')
    .selectAll('tasks')
    .where('task_edges.blocker_id', '=', '')
    .orderBy('position')
    .compile().sql
  return {
    get: async (id: string, tx: Tx) => first(await tx.run<Task>(byId, [id])),
    next: async (session: string, tx: Tx) => first(await tx.run<Task>(next, [session])),
    nextFree: async ({ project, feature }: TaskScope, tx: Tx) =>
      first(
        feature === undefined
          ? await tx.run<Task>(nextOfProject, [project])
          : await tx.run<Task>(nextOfFeature, [project, feature]),
      ),
    dependentsOf: async (id: string, tx: Tx) => tx.run<Task>(dependents, [id]),
    /** Changes nothing if the task has moved since, or another attempt holds it. */
    async swap(task: Task, patch: Partial<Task>, tx: Tx): Promise<Task | undefined> {
      const changes = findChanges(task, patch)
      if (Object.keys(changes).length === 0) changes.attempt = task.attempt // still checks that the task is unchanged
      const text = getStatement(swaps, changes, () => buildSwap(db, changes))
      const changed = await tx.change(text, [...Object.values(changes), task.id, task.state, task.attempt])
      // Reading the row back would cost more than writing it.
      return changed === 1 ? { ...task, ...patch } : undefined
    },
    /** Six hex digits are short enough to type but collide one day; then the next ones are tried. */
    async insert(task: NewTask, tx: Tx): Promise<Task> {
      const { id: requestedId, ...columns } = task
      const text = getStatement(inserts, columns, () => buildInsert(db, columns))
      for (;;) {
        const row = first(await tx.run<Task>(text, [...Object.values(columns), requestedId ?? shortId('t')]))
        if (row) return row
        if (requestedId !== undefined) throw new AppError('task_taken', { ids: requestedId })
      }
    },
  }
}

function selectFirstReady(db: Kysely<Tables>) {
  return db
    .selectFrom('tasks')
    .selectAll()
    .where('state', '=', READY)
    .orderBy('priority', 'desc')
    .orderBy('position')
    .limit(ONE)
}

/** Writing an unchanged value costs as much as a change, because every index on that column is written too. */
function findChanges(task: Task, patch: Partial<Task>): Partial<Task> {
  const changes: Record<string, unknown> = {}
  for (const name in patch) {
    const value = patch[name as keyof Task]
    if (value !== task[name as keyof Task]) changes[name] = value
  }
  return changes
}

function buildSwap(db: Kysely<Tables>, patch: Partial<Task>): string {
  return db
    .updateTable('tasks')
    .set(patch)
    .where('id', '=', '')
    .where('state', '=', 'ready')
    .where('attempt', '=', 0)
    .compile().sql
}

function buildInsert(db: Kysely<Tables>, columns: Omit<NewTask, 'id'>): string {
  const position = sql<number>`(select coalesce(max(position), 0) + 1 from tasks)`
  return db
    .insertInto('tasks')
    .values({ ...columns, id: '', position })
    .onConflict(same => same.column('id').doNothing())
    .returningAll()
    .compile().sql
}

/** Returns the cached text for this set of columns, in their order, or builds it. */
function getStatement(texts: Map<string, string>, columns: object, build: () => string): string {
  const shape = Object.keys(columns).join()
  const text = texts.get(shape) ?? build()
  texts.set(shape, text)
  return text
}

function first<T>(rows: T[]): T | undefined {
  return rows[0]
}
