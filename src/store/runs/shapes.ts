import type { TaskScope } from '../../domain/task.ts'
import type { Tx } from '../database/tx.ts'
import type { JournalColumns } from '../journal/columns.ts'
import type { AttemptRow, RunRow } from './rows.ts'

/** Loops that drain a target, and the attempts they made. */
export interface Runs {
  insert(row: RunRow, tx: Tx): Promise<void>
  update(id: string, patch: Partial<RunRow>, tx?: Tx): Promise<void>
  get(id: string, tx?: Tx): Promise<RunRow | undefined>
  /** Newest first. */
  list(filter?: { project?: string | undefined; open?: boolean }, tx?: Tx): Promise<RunRow[]>
  /** By id or the beginning of one that fits only one run. Throws `run_unknown`, `run_ambiguous`. */
  resolve(ref: string): Promise<RunRow>
  begin(attempt: AttemptRow, tx: Tx): Promise<void>
  /** Closes an attempt that is open; false where it is not. */
  end(
    attempt: Pick<AttemptRow, 'task_id' | 'number'>,
    patch: Partial<AttemptRow> & Partial<JournalColumns>,
    tx: Tx,
  ): Promise<boolean>
  /** Runs with attempts that have no outcome yet, whether they are open themselves or not. */
  withOpenAttempts(): Promise<string[]>
  /** Tasks of a scope that are done and that nobody has checked. */
  unverified(scope: TaskScope): Promise<number>
  /** In the order in which they were begun. */
  attempts(of: { run?: string; task?: string; session?: string }, tx?: Tx): Promise<AttemptRow[]>
}
