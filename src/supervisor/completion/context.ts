import type { VerificationResult } from '../../domain/evidence.ts'
import type { MergeStrategy } from '../../domain/option-values.ts'
import type { SessionRow } from '../../store/tables.ts'
import type { MergeQueueKey } from '../../store/task-stores.ts'
import type { SupervisorContext } from '../context.ts'
import type { FinishedWork } from './work.ts'

/** The settings under which work is completed. */
export interface CompletionSettings {
  /** How often a session gets a failed verification, or a conflict, back. */
  rounds: number
  /** Whether work of a session that belongs to no run is verified; a run has its own option. */
  verify: boolean
  /** Whether a command checks the work, and whether work that nothing proves counts all the same. */
  checks: boolean
  allowsUnproven: boolean
  /** Whether tests that failed before the work may fail. */
  allowsKnownFailures: boolean
  merge: { mode: 'auto' | 'pr' | 'off'; strategy: MergeStrategy; review: boolean }
}

export interface Unproven {
  why: string
  fix?: string | undefined
}

/** What completion uses beside the rows. */
export interface CompletionDeps {
  supervisor: SupervisorContext
  settingsOf(session: SessionRow): Promise<CompletionSettings>
  /** Runs the gates on the work as it is in its directory now. `later`: they cannot run before that time. */
  verify(work: FinishedWork, round: number, signal: AbortSignal): Promise<VerificationResult | { later: number }>
  /** Why nothing proves the work, and, if commands could check it, what a person types for that. */
  describeUnproven(work: FinishedWork, result: VerificationResult): Promise<Unproven>
  /** How many merges of a queue are tried together, at most. */
  batchOf(queue: MergeQueueKey): Promise<number>
  /** Called when sessions may have a time in their rows at which they resume. */
  wake(): void
  /** Called when a task that this run tried is no longer completing, or waits for a person. */
  wakeRun(run: string): void
  /** Starts the next task of a session whose task is done. */
  nudge(session: string): Promise<void>
  /** How many verifications may run at once. */
  atOnce: number
}
