import type { Tx } from '../database/tx.ts'
import type { FeatureRow } from './rows.ts'

/** Features and how far each is. */
export interface Features {
  insert(row: FeatureRow, tx: Tx): Promise<void>
  update(id: string, patch: Partial<FeatureRow>, tx?: Tx): Promise<void>
  get(id: string, tx?: Tx): Promise<FeatureRow | undefined>
  named(project: string, name: string, tx?: Tx): Promise<FeatureRow | undefined>
  /** Newest first. `open`: those that are not ready. */
  list(filter?: { project?: string | undefined; open?: boolean }): Promise<FeatureRow[]>
  /** Names that tasks of a project give as their feature. */
  inTasks(project: string): Promise<string[]>
  remove(id: string, tx: Tx): Promise<void>
}
