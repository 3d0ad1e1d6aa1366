import type { Generated } from 'kysely'
import type { Evidence, NewEvidence, TestResult } from '../../domain/workspace/evidence.ts'

export type EvidenceTable = Omit<NewEvidence, 'findings' | 'tests' | 'cached'> & {
  id: Generated<number>
  /** JSON. */
  findings: string
  tests: string | null
  cached: number
}

/** What a command came to on a tree, under a key that holds everything it depends on. */
export interface GateResult {
  key: string
  tree: string
  command: string
  exit: number
  duration_ms: number
  output: string
  tests: TestResult[] | null
  created_at: number
}

export type GateResultsTable = Omit<GateResult, 'tests'> & { tests: string | null }

/** Which verification of a task is meant. */
export type EvidenceRound = Pick<Evidence, 'task_id' | 'attempt' | 'round'>
