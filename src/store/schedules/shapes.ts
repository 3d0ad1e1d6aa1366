import type { Tx } from '../database/tx.ts'
import type { ScheduleRow } from './rows.ts'

/** Runs to come. */
export interface Schedules {
  insert(row: ScheduleRow, tx: Tx): Promise<void>
  /**
   * Changes a row that still waits for the same time; false where somebody was quicker. Every ending and every firing goes
   * through here, so that one time never comes twice.
   */
  move(row: Pick<ScheduleRow, 'id' | 'due_at'>, patch: Partial<ScheduleRow>, tx: Tx): Promise<boolean>
  get(id: string, tx?: Tx): Promise<ScheduleRow | undefined>
  /** Soonest first; those that are over, newest first, behind them. */
  list(filter?: { project?: string | undefined; waiting?: boolean }, tx?: Tx): Promise<ScheduleRow[]>
}
