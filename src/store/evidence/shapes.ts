import type { Evidence, NewEvidence } from '../../domain/workspace/evidence.ts'
import type { Tx } from '../database/tx.ts'
import type { EvidenceRound, GateResult } from './rows.ts'

/** What gates saw, bound to trees. */
export interface EvidenceRows {
  /** All that one verification saw, in the place of what an interrupted one of the same round left. */
  put(round: EvidenceRound, rows: readonly NewEvidence[], tx: Tx): Promise<void>
  /** In the order in which it was seen. */
  list(of: { task: string; attempt?: number | undefined; round?: number | undefined }, tx?: Tx): Promise<Evidence[]>
  /** The newest verification of a task. */
  latest(task: string, tx?: Tx): Promise<Evidence[]>
}

/** Results of commands that need not be run again. What counts as the same is the key's business. */
export interface GateResults {
  get(key: string): Promise<GateResult | undefined>
  /** The newest result takes the place of an older one. */
  put(result: GateResult): Promise<void>
  /** Removes what is older. */
  prune(before: number): Promise<void>
}
