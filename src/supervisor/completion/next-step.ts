import { concernsAbout, FAILED_BEFORE, findFailedBefore, type VerificationResult } from '../../domain/evidence.ts'
import type { MergeState } from '../../domain/merge.ts'
import type { TaskState, Verification } from '../../domain/task.ts'

/** The facts by which the next step of a completing task is decided, all of them read from rows. */
export interface CompletionFacts {
  state: TaskState
  /** A person has paused the run: no new step begins. */
  isPaused: boolean
  /** The task waits for a person: for a review, or because something needs their help. */
  waits: 'review' | 'trouble' | undefined
  /** Whether gates are to run. */
  verify: boolean
  /** Whether the work is on a branch that is to be merged. */
  merges: boolean
  /** The state of its open merge. */
  merge: MergeState | undefined
  /** A person's answer to the review of that merge, or about concerns that the last verification left. */
  reviewed: 'approved' | 'returned' | undefined
}

export type CompletionStep =
  /** A person or an agent has the next step, or the task is not completing any more. */
  | { do: 'nothing' }
  | { do: 'verify' }
  /** Work that was verified, or is not to be, goes into the merge queue of its target. */
  | { do: 'enqueue' }
  /** The merge may proceed. */
  | { do: 'advance' }
  /** A person has approved the work. */
  | { do: 'release' }
  /** A person has accepted the concerns about the work: it may be merged, or counts as done. */
  | { do: 'accept' }
  /** A person has reviewed the work and wants changes. */
  | { do: 'return' }
  /** The merge is gone: the work is verified anew. */
  | { do: 'verify_anew' }
  | { do: 'finish'; verification: Verification }

/** Decides the next step of a completing task. Pure. */
export function nextStep(facts: CompletionFacts): CompletionStep {
  const { state, isPaused, waits } = facts
  if (state !== 'verifying' && state !== 'merging') return { do: 'nothing' }
  if (isPaused || waits !== undefined) return { do: 'nothing' }
  if (state === 'merging') return nextMergeStep(facts)
  if (facts.reviewed !== undefined) return { do: facts.reviewed === 'approved' ? 'accept' : 'return' }
  if (facts.verify) return { do: 'verify' }
  return facts.merges ? { do: 'enqueue' } : { do: 'finish', verification: 'unverified' }
}

function nextMergeStep({ merge, reviewed }: CompletionFacts): CompletionStep {
  if (merge === undefined) return { do: 'verify_anew' }
  if (merge !== 'review') return { do: 'advance' }
  // A merge in review without an open escalation and without an answer: the review is asked for anew.
  if (reviewed === undefined) return { do: 'verify_anew' }
  return { do: reviewed === 'approved' ? 'release' : 'return' }
}

/** What decides, beside the result, what follows from a verification. */
export interface VerificationContext {
  merges: boolean
  /** Whether a person has to review the work before it is merged. */
  review: boolean
  /** Whether a run tries the task again; without a run only a person does. */
  hasRun: boolean
  /** The concerns that a person has accepted already, for this work or in the settings. */
  accepted: readonly string[]
  /** How often the conversation got a failed verification back, and how often it may. */
  failed: number
  rounds: number
  /** The agent got exactly this work back and changed nothing. */
  isUnchanged: boolean
}

export type AfterVerification =
  | { do: 'ask_review' }
  /** Nothing failed, but a person has to accept these concerns first. */
  | { do: 'ask_acceptance'; concerns: string[] }
  | { do: 'enqueue' }
  | { do: 'finish'; verification: Verification }
  /** The work goes back into the same conversation, with the report. */
  | { do: 'send_back' }
  /** A fresh attempt begins, with the story of this one. */
  | { do: 'try_anew' }
  | { do: 'fail' }
  /** A gate could not run at all: a person is asked. */
  | { do: 'escalate' }

/**
 * Decides what follows from a verification: only `passed`, proven or accepted by a person, brings a task nearer to done. If only tests
 * fail that failed before, the task may have been to mend them: the work goes back. An agent that changes nothing then has said that it
 * was not, and a person decides, because no further attempt would do better. Pure.
 */
export function afterVerification(
  result: Pick<VerificationResult, 'status' | 'isProven' | 'findings' | 'checks'>,
  { merges, review, hasRun, failed, rounds, accepted, isUnchanged }: VerificationContext,
): AfterVerification {
  const { status, isProven } = result
  if (status === 'broken') return { do: 'escalate' }
  const concerns = concernsAbout(result).filter(concern => !accepted.includes(concern))
  const isForPerson =
    findFailedBefore(result.checks) !== undefined && (isUnchanged || !concerns.some(isAboutFailedBefore))
  if (status === 'failed' && !isForPerson) {
    if (failed < rounds) return { do: 'send_back' }
    return { do: hasRun ? 'try_anew' : 'fail' }
  }
  if (concerns.length > 0) return { do: 'ask_acceptance', concerns }
  if (!merges) return { do: 'finish', verification: isProven && status === 'passed' ? 'passed' : 'unverified' }
  return { do: review ? 'ask_review' : 'enqueue' }
}

/** Whether a person is to accept tests that failed before the work. */
export function isAboutFailedBefore(concern: string): boolean {
  return concern.startsWith(`${FAILED_BEFORE}:`)
}
