import * as z from 'zod'
import type { Escalation } from '../../domain/escalation.ts'
import type { Store } from '../../store/store.ts'
import type { CompletionSettings } from './context.ts'
import { ACCEPTANCE_TOOL, TROUBLE_TOOL } from './moves.ts'
import type { CompletionFacts } from './next-step.ts'
import { type FinishedWork, needsVerification } from './work.ts'

export interface KnownCompletionFacts extends CompletionFacts {
  /** The reason of a person who was asked about this attempt and gave it up. */
  givenUp: string | undefined
  /** The comments of a review that returned the work. */
  comments: string | undefined
  /** The concerns that a person was asked to accept after the last verification. */
  concerns: readonly string[]
  /** The open question about work that no command has checked. */
  unchecked: Escalation | undefined
  /** The open question about work that fails only as it did before, if the settings could let that pass. */
  failedBefore: Escalation | undefined
}

/** Reads the facts about finished work from its rows. */
export async function readFacts(
  work: FinishedWork,
  { settings, store }: { settings: CompletionSettings; store: Store },
): Promise<KnownCompletionFacts> {
  const { task, session, run, worktree, progress } = work
  const escalations = (await store.escalations.list({ session: session.id })).filter(row => isAbout(row, work))
  const open = escalations.filter(({ state }) => state === 'open')
  const merge = task.state === 'merging' ? await store.merges.open(task.id) : undefined
  const review = escalations.findLast(({ tool, kind, state, input }) => {
    if (kind !== 'review' || state !== 'answered') return false
    if (task.state === 'verifying')
      return (
        tool === ACCEPTANCE_TOOL &&
        input['round'] === progress.verified &&
        input['returned'] === (progress.returned ?? 0)
      )
    return merge !== undefined && input['merge'] === merge.id
  })
  const trouble = escalations.findLast(({ kind, state }) => kind === 'error' && state === 'answered')
  return {
    state: task.state,
    isPaused: run?.state === 'paused',
    waits: open.some(({ kind }) => kind === 'review') ? 'review' : open.length > 0 ? 'trouble' : undefined,
    verify: needsVerification({ run }, settings),
    merges: worktree !== undefined && settings.merge.mode !== 'off',
    merge: merge?.state,
    reviewed: review && (review.verdict === 'allow' ? 'approved' : 'returned'),
    givenUp: trouble?.verdict === 'deny' ? (trouble.answer_reason ?? 'no reason was given') : undefined,
    comments: review?.answer_reason ?? undefined,
    concerns: z.array(z.string()).catch([]).parse(review?.input['concerns']),
    unchecked: open.find(({ tool, input }) => tool === ACCEPTANCE_TOOL && input['untilChecked'] === true),
    failedBefore: open.find(({ tool, input }) => tool === ACCEPTANCE_TOOL && typeof input['untilAllowed'] === 'string'),
  }
}

/** Whether the completion of this attempt opened the escalation. */
function isAbout({ kind, tool, input }: Escalation, { task }: FinishedWork): boolean {
  const isOfCompletion = kind === 'review' || tool === TROUBLE_TOOL
  return isOfCompletion && input['task'] === task.id && input['attempt'] === task.attempt
}
