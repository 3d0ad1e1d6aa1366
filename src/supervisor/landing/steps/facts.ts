import type { Escalation } from '../../../domain/escalation.ts'
import type { Store } from '../../../store/store.ts'
import type { LandingSettings, MergeDesk } from '../parts.ts'
import { isVerified, type Work } from '../work.ts'
import { TROUBLE_TOOL } from './moves.ts'
import type { LandingFacts } from './next-step.ts'

export interface KnownFacts extends LandingFacts {
  /** A person was asked about this attempt and gave it up; their words. */
  givenUp: string | undefined
  /** What they said with a review that returned it. */
  comments: string | undefined
}

/** What rows say of work that is to land. */
export async function factsOf(
  work: Work,
  { settings, store, merges }: { settings: LandingSettings; store: Store; merges: MergeDesk },
): Promise<KnownFacts> {
  const { task, session, run, place } = work
  const asked = (await store.escalations.list({ session: session.id })).filter(row => isAbout(row, work))
  const open = asked.filter(({ state }) => state === 'open')
  const merge = task.state === 'merging' ? await merges.open(task.id) : undefined
  const review = asked.findLast(({ kind, state, input }) => {
    return kind === 'review' && state === 'answered' && merge !== undefined && input['merge'] === merge.id
  })
  const trouble = asked.findLast(({ kind, state }) => kind === 'error' && state === 'answered')
  return {
    state: task.state,
    isPaused: run?.state === 'paused',
    waits: open.some(({ kind }) => kind === 'review') ? 'review' : open.length > 0 ? 'trouble' : undefined,
    verify: isVerified(work),
    merges: place !== undefined && settings.merge.mode !== 'off',
    merge: merge?.state,
    reviewed: review && (review.verdict === 'allow' ? 'approved' : 'returned'),
    givenUp: trouble?.verdict === 'deny' ? (trouble.answer_reason ?? 'no reason was given') : undefined,
    comments: review?.answer_reason ?? undefined,
  }
}

/** What landing itself has asked of this attempt. */
function isAbout({ kind, tool, input }: Escalation, { task }: Work): boolean {
  const isOurs = kind === 'review' || tool === TROUBLE_TOOL
  return isOurs && input['task'] === task.id && input['attempt'] === task.attempt
}
