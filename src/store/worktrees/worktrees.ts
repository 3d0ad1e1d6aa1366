import type { Kysely } from 'kysely'
import type { Tx } from '../database/tx.ts'
import type { Tables } from '../tables.ts'
import type { Writer } from '../writer.ts'
import type { Worktrees } from './shapes.ts'

/** Opens the table of worktrees. */
export function openWorktreeRows(read: Kysely<Tables>, writer: Writer): Worktrees {
  const write = async (work: (db: Kysely<Tables>) => Promise<unknown>, tx: Tx | undefined) => {
    await (tx ? work(tx.db) : writer.transaction(own => work(own.db)))
  }
  return {
    put: ({ task, attempt, ...rest }, tx) =>
      write(
        db =>
          db
            .insertInto('worktrees')
            .values({ task, attempt, ...rest })
            .onConflict(conflict => conflict.columns(['task', 'attempt']).doUpdateSet(rest))
            .execute(),
        tx,
      ),
    update: ({ task, attempt }, patch, tx) =>
      write(
        db => db.updateTable('worktrees').set(patch).where('task', '=', task).where('attempt', '=', attempt).execute(),
        tx,
      ),
    get: ({ task, attempt }, tx) =>
      (tx?.db ?? read)
        .selectFrom('worktrees')
        .selectAll()
        .where('task', '=', task)
        .where('attempt', '=', attempt)
        .executeTakeFirst(),
    list: async ({ project, task, repository, states } = {}, tx) => {
      let select = (tx?.db ?? read).selectFrom('worktrees').selectAll()
      if (project !== undefined) select = select.where('project', '=', project)
      if (task !== undefined) select = select.where('task', '=', task)
      if (repository !== undefined) select = select.where('repository', '=', repository)
      if (states) select = select.where('state', 'in', [...states])
      return select.orderBy('created_at', 'desc').orderBy('task').orderBy('attempt', 'desc').execute()
    },
  }
}
