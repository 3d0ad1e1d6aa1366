import type { VerificationResult } from '../../domain/evidence.ts'
import type { MergeState } from '../../domain/merge.ts'
import type { TaskState, Verification } from '../../domain/task.ts'

/** What is known of a task between its agent's word and its end, all of it from rows. */
export interface CompletionFacts {
  state: TaskState
  /** A person has paused its run: nothing new is begun for it. */
  isPaused: boolean
  /** It waits for a person: for a review, or because something could not be done without one. */
  waits: 'review' | 'trouble' | undefined
  /** Whether gates are to run. */
  verify: boolean
  /** Whether its work lies on a branch that is to reach its target. */
  merges: boolean
  /** Its merge that is not over. */
  merge: MergeState | undefined
  /** What a person said to the review of that merge. */
  reviewed: 'approved' | 'returned' | undefined
}

export type CompletionStep =
  /** It is somebody else's turn: a person's, an agent's, or nobody's any more. */
  | { do: 'nothing' }
  | { do: 'verify' }
  /** What was verified, or is not to be, goes into the queue of its target. */
  | { do: 'enqueue' }
  /** Its merge may go on. */
  | { do: 'advance' }
  /** A person has looked at it and lets it through. */
  | { do: 'release' }
  /** A person has looked at it and wants something changed. */
  | { do: 'return' }
  /** Its merge is gone: it is looked at anew. */
  | { do: 'look_anew' }
  | { do: 'finish'; verification: Verification }

/** What follows for a task that is to land. Pure. */
export function nextStep(facts: CompletionFacts): CompletionStep {
  const { state, isPaused, waits } = facts
  if (state !== 'verifying' && state !== 'merging') return { do: 'nothing' }
  if (isPaused || waits !== undefined) return { do: 'nothing' }
  if (state === 'merging') return whileMerging(facts)
  if (facts.verify) return { do: 'verify' }
  return facts.merges ? { do: 'enqueue' } : { do: 'finish', verification: 'unverified' }
}

function whileMerging({ merge, reviewed }: CompletionFacts): CompletionStep {
  if (merge === undefined) return { do: 'look_anew' }
  if (merge !== 'review') return { do: 'advance' }
  // One whose review nobody waits for any more, and to which nobody has said anything, is asked about anew.
  if (reviewed === undefined) return { do: 'look_anew' }
  return { do: reviewed === 'approved' ? 'release' : 'return' }
}

/** What a verification is judged by, beside its result. */
export interface VerificationContext {
  merges: boolean
  /** Whether a person has to look before it is merged. */
  review: boolean
  /** Whether a run tries it anew; without one only a person does. */
  hasRun: boolean
  /** How often its conversation got a failed verification back, and how often it may. */
  failed: number
  rounds: number
}

export type AfterVerification =
  | { do: 'ask_review' }
  | { do: 'enqueue' }
  | { do: 'finish'; verification: Verification }
  /** Into the same conversation, with the report. */
  | { do: 'send_back' }
  /** A fresh attempt, with the story. */
  | { do: 'try_anew' }
  | { do: 'fail' }
  /** A gate could not run at all: a person has to look. */
  | { do: 'escalate' }

/** What follows from a verification. Pure: nothing but `passed` comes nearer to done. */
export function afterVerification(
  { status, isProven }: Pick<VerificationResult, 'status' | 'isProven'>,
  { merges, review, hasRun, failed, rounds }: VerificationContext,
): AfterVerification {
  if (status === 'broken') return { do: 'escalate' }
  if (status === 'failed') {
    if (failed < rounds) return { do: 'send_back' }
    return { do: hasRun ? 'try_anew' : 'fail' }
  }
  if (!merges) return { do: 'finish', verification: isProven ? 'passed' : 'unverified' }
  return { do: review ? 'ask_review' : 'enqueue' }
}
