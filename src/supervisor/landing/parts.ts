import type { VerificationResult } from '../../domain/workspace/evidence.ts'
import type { Conflict, Merge, MergeStrategy } from '../../domain/workspace/merge.ts'
import type { Tx } from '../../store/store.ts'
import type { SessionRow } from '../../store/tables.ts'
import type { Floor } from '../floor.ts'
import type { Work } from './work.ts'

/** The settings under which work lands. */
export interface LandingSettings {
  /** How often a conversation gets a failed verification, or a conflict, back. */
  rounds: number
  merge: { mode: 'auto' | 'pr' | 'off'; strategy: MergeStrategy; review: boolean }
}

/** The queue of a repository and a branch of it. */
export type Lane = Pick<Merge, 'repository' | 'target'>

/** How work stands in the queue: which commit of it, and whether a person has to look first. */
export interface Enqueued {
  settings: LandingSettings
  head: string
  review: boolean
}

/** What an agent was to finish in a worktree: a rebase that stands still there. */
export type Finished =
  | { kind: 'whole' }
  /** The next commit conflicts too, or what was given back is not finished; `missing` says what is. */
  | { kind: 'conflict'; conflict: Conflict | undefined; missing: string[] }
  | { kind: 'broken'; why: string }

/** What becomes of merges; the way there is git's business (`workspace/merge`). */
export interface MergeDesk {
  /** The merge of a task that is not over. */
  open(task: string, tx?: Tx): Promise<Merge | undefined>
  /** The last one there was of a task. */
  last(task: string, tx?: Tx): Promise<Merge | undefined>
  /** Puts work into the queue of its target. */
  enqueue(work: Work, how: Enqueued, tx: Tx): Promise<Merge>
  /** A person has looked: it stands in the queue now. */
  release(merge: Merge, tx: Tx): Promise<void>
  /** Nobody wants it any more. */
  abort(merge: Merge, why: string, tx: Tx): Promise<void>
  /** Makes what steps can be made in a queue; the time at which it is to be looked at again by the clock. */
  advance(lane: Lane, signal: AbortSignal): Promise<{ lookAgainAt?: number | undefined }>
  /** Ends the gates that run for a task in its queue. */
  interrupt(task: string): void
  /** Queues in which something is not over. */
  lanes(): Promise<Lane[]>
  /** What an earlier life of the daemon left half done is decided from what git says. */
  recover(): Promise<void>
}

/** What landing needs of those around it. */
export interface LandingParts {
  floor: Floor
  merges: MergeDesk
  settingsOf(session: SessionRow): Promise<LandingSettings>
  /** Runs the gates on the work as it lies there. `later`: not now, and when. */
  verify(work: Work, round: number, signal: AbortSignal): Promise<VerificationResult | { later: number }>
  /** Goes on with the rebase that was left to its agent, if there is one. */
  finishRebase(work: Work): Promise<Finished>
  /** Commits what is left of work that is not to be verified, and names it. */
  commit(work: Work): Promise<{ head: string } | { problem: string }>
  /** Sessions have a time in their rows now. */
  wake(): void
  /** A task that this run tried is not on its way any more. */
  ended(run: string): void
  /** A session whose task is done may go on with the next of its queue. */
  nudge(session: string): Promise<void>
  /** How many verifications may run at once. */
  atOnce: number
}
