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
 * What every claim and every finish does, thousands of times a second: each statement is built once, and its text is run on
 * the connection itself. Building it anew costs more than running it.
 */
export function prepareTaskStatements(db: Kysely<Tables>) {
  const swaps = new Map<string, string>()
  const inserts = new Map<string, string>()
  const byId = db.selectFrom('tasks').selectAll().where('id', '=', '').compile().sql
  const next = firstReady(db).where('session_id', '=', '').compile().sql
  const free = firstReady(db).where('session_id', 'is', null).where('project', '=', '')
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
    /** Nothing changes where somebody else has moved it since, or holds it with another attempt. */
    async swap(task: Task, patch: Partial<Task>, tx: Tx): Promise<Task | undefined> {
      const changes = changesOf(task, patch)
      if (Object.keys(changes).length === 0) changes.attempt = task.attempt // that it is still the same is asked all the same
      const text = known(swaps, changes, () => swapText(db, changes))
      const changed = await tx.change(text, [...Object.values(changes), task.id, task.state, task.attempt])
      // Reading the row back would cost more than writing it.
      return changed === 1 ? { ...task, ...patch } : undefined
    },
    /** Six hex digits are short enough to type and will meet one day: the next ones are tried. */
    async insert(task: NewTask, tx: Tx): Promise<Task> {
      const { id: wanted, ...columns } = task
      const text = known(inserts, columns, () => insertText(db, columns))
      for (;;) {
        const row = first(await tx.run<Task>(text, [...Object.values(columns), wanted ?? shortId('t')]))
        if (row) return row
        if (wanted !== undefined) throw new AppError('task_taken', { ids: wanted })
      }
    },
  }
}

function firstReady(db: Kysely<Tables>) {
  return db
    .selectFrom('tasks')
    .selectAll()
    .where('state', '=', READY)
    .orderBy('priority', 'desc')
    .orderBy('position')
    .limit(ONE)
}

/** What is written as it was costs as much as what changes: every index on that column is written, too. */
function changesOf(task: Task, patch: Partial<Task>): Partial<Task> {
  const changes: Record<string, unknown> = {}
  for (const name in patch) {
    const value = patch[name as keyof Task]
    if (value !== task[name as keyof Task]) changes[name] = value
  }
  return changes
}

function swapText(db: Kysely<Tables>, patch: Partial<Task>): string {
  return db
    .updateTable('tasks')
    .set(patch)
    .where('id', '=', '')
    .where('state', '=', 'ready')
    .where('attempt', '=', 0)
    .compile().sql
}

function insertText(db: Kysely<Tables>, columns: Omit<NewTask, 'id'>): string {
  const position = sql<number>`(select coalesce(max(position), 0) + 1 from tasks)`
  return db
    .insertInto('tasks')
    .values({ ...columns, id: '', position })
    .onConflict(same => same.column('id').doNothing())
    .returningAll()
    .compile().sql
}

/** One text for each set of columns, in their order. */
function known(texts: Map<string, string>, columns: object, build: () => string): string {
  const shape = Object.keys(columns).join()
  const text = texts.get(shape) ?? build()
  texts.set(shape, text)
  return text
}

function first<T>(rows: T[]): T | undefined {
  return rows[0]
}
