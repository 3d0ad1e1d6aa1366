import { wakeTime } from '../../../base/clock.ts'
import { neutral } from '../../../base/neutral.ts'
import type { RunOutcome } from '../../../domain/attempt.ts'
import { windowName } from '../../../domain/option-values.ts'
import type { AttemptNow, AttemptView, RunDetail, RunView, TaskCounts } from '../../../domain/run.ts'
import { duration, shortCount } from '../../render/format.ts'
import { firstLine, type Tone } from '../../render/text.ts'

/** The glyph, colour and words of each outcome. */
export const OUTCOME_LOOKS: Record<RunOutcome, { glyph: string; tone: Tone; words: string }> = {
  complete: { glyph: '✓', tone: 'green', words: 'complete' },
  failure: { glyph: '✗', tone: 'red', words: 'failed' },
  limit_reached: { glyph: '■', tone: 'yellow', words: 'stopped by its limit' },
  blocked: { glyph: '○', tone: 'yellow', words: 'blocked' },
  no_plan: { glyph: '○', tone: 'yellow', words: 'nothing to do' },
  interrupted: { glyph: '■', tone: 'yellow', words: 'interrupted' },
}

/** `● running`, `⏸ paused`, `✓ complete`. */
export function runStateText(run: Pick<RunView, 'state' | 'outcome' | 'stopping'>): { text: string; tone: Tone } {
  const { state, outcome, stopping } = run
  if (outcome) {
    const { glyph, tone, words } = OUTCOME_LOOKS[outcome]
    return { text: `${glyph} ${words}`, tone }
  }
  if (state === 'paused') return { text: '⏸ paused', tone: 'yellow' }
  return stopping ? { text: '● ends after this', tone: 'yellow' } : { text: '● running', tone: 'green' }
}

/** The target of a run in words. */
export function targetText({ target }: Pick<RunView, 'target'>): string {
  if (target.kind === 'project') return 'the whole project'
  return target.kind === 'feature' ? `feature ${neutral(target.name)}` : `task ${target.id}`
}

/** `3 done (unverified), 1 failed, 2 left`. Finished work that cannot go on counts as waiting. */
export function countsText(run: Pick<RunView, 'tasks' | 'unverified'> & Partial<Pick<RunView, 'held'>>): string {
  const { unverified, held = 0 } = run
  const { done, failed, ...open } = groupCounts(run.tasks)
  const [waiting, left] = [open.waiting + held, open.left - held]
  const verified = done - unverified
  return (
    [
      ...(verified > 0 ? [`${verified} done`] : []),
      ...(unverified > 0 ? [`${unverified} done (unverified)`] : []),
      ...(failed > 0 ? [`${failed} failed`] : []),
      ...(waiting > 0 ? [`${waiting} waiting`] : []),
      ...(left > 0 ? [`${left} left`] : []),
    ].join(', ') || 'no tasks'
  )
}

/** `3 merged, 1 not merged`; `undefined` when nothing was done in a worktree. */
export function mergedText({ merged, unmerged }: Pick<RunView, 'merged' | 'unmerged'>): string | undefined {
  const parts = [...(merged > 0 ? [`${merged} merged`] : []), ...(unmerged > 0 ? [`${unmerged} not merged`] : [])]
  return parts.length === 0 ? undefined : parts.join(', ')
}

/** Groups the counts by state into those that a person is shown. */
export function groupCounts(tasks: TaskCounts): Record<'done' | 'failed' | 'waiting' | 'left', number> {
  const { done = 0, failed = 0, waiting = 0, cancelled: _, ...others } = tasks
  return { done, failed, waiting, left: Object.values(others).reduce((sum, count) => sum + count, 0) }
}

/** Why no new task begins in an open run; `undefined` when nothing holds it up. */
export function heldUpText({ state, reason }: Pick<RunView, 'state' | 'reason'>): string | undefined {
  if (reason === null || state === 'ended') return undefined
  return state === 'paused' ? `Paused: ${neutral(reason)}` : `The next task cannot begin yet: ${neutral(reason)}`
}

/** Why ready tasks do not begin beside those at work, without what `heldUpText` says already. */
export function keptApartLines({ kept_apart, reason }: Pick<RunDetail, 'kept_apart' | 'reason'>): string[] {
  return kept_apart.filter(({ why }) => why !== reason).map(({ why }) => neutral(why))
}

/** `$0.42` */
export function costText(cost: number): string {
  return `$${cost.toFixed(2)}`
}

/** `62% of the 5-hour window (warning)`, or our own count, which is no share of anything that a vendor allows; `undefined` when it is not known. */
export function quotaText({ quota }: Pick<RunDetail, 'quota'>): string | undefined {
  if (!quota) return undefined
  const { level, window, utilization, source, tokens = 0 } = quota
  if (source === 'estimate') return tokens === 0 ? undefined : `${shortCount(tokens)} tokens in the last hour`
  const percent = `${Math.round(utilization * 100)}%`
  return `${percent} of the ${windowName(window)} window${level === 'unknown' ? '' : ` (${level})`}`
}

/** `about 12m 3s`, estimated from what other tasks took; `undefined` when it is not known. */
export function timeLeftText({ left_ms }: Pick<RunDetail, 'left_ms'>): string | undefined {
  return left_ms === null ? undefined : `about ${duration(left_ms)}`
}

/** What happens to work that its agent has called done. */
export const COMPLETION_TEXTS = { verifying: 'is being verified', merging: 'is being merged' } as const

/** Why a task waits for a person, or at least the command by which they answer; between its checks and its merge that is a review. */
export function waitsText(
  task: string,
  { landing, decision, why }: Pick<AttemptNow, 'landing' | 'decision' | 'why'>,
): string {
  if (landing === 'verifying' && why?.startsWith('waits for you')) return firstLine(why)
  return landing === 'merging' ? `waits for your review: pcc review ${task}` : `waits for you: pcc respond ${decision}`
}

/** `is tried again at 02:46: Claude Code is not logged in. …` */
export function pausedText({ resumes_at, why }: { resumes_at: number; why?: string | undefined }, at: number): string {
  return `is tried again at ${wakeTime(resumes_at, at)}${why ? `: ${neutral(asOneLine(why))}` : ''}`
}

/** Why an attempt stands still that does not go on by itself: `waits for your yes to Bash rm -rf legacy: pcc respond 3 …` */
export function standsText(why: string): string {
  return firstLine(why).replace(/^It waits/, 'waits')
}

function asOneLine(text: string): string {
  return text
    .split('\n')
    .map(line => line.trim().replace(/(?<=[^.!?:])$/, '.'))
    .join(' ')
}

/** What the open attempts of a run wait for that no person is asked about: `t-000001, t-000002: is tried again at 02:46: …` */
export function standingLines({ attempts }: Pick<RunDetail, 'attempts'>, at: number): string[] {
  const standing = attempts.filter(
    ({ now }) =>
      now?.decision === null &&
      (now.held_up !== undefined ||
        (now.landing === null && (now.resumes_at !== null || now.status === 'rate_limited'))),
  )
  const causes = Map.groupBy(standing, attempt => activityText(attempt, at))
  return [...causes].map(([why, same]) => `${same.map(({ task_id }) => task_id).join(', ')}: ${why}`)
}

/** What an attempt is doing or waiting for right now. */
export function activityText({ task_id, now }: AttemptView, at: number): string {
  if (!now) return ''
  if (now.decision !== null) return waitsText(task_id, now)
  if (now.held_up !== undefined) return `its merge waits: ${firstLine(now.held_up)}`
  if (now.landing) return COMPLETION_TEXTS[now.landing]
  switch (now.status) {
    case 'rate_limited':
      return now.resumes_at === null
        ? 'its account is limited'
        : `waits for its limit until ${wakeTime(now.resumes_at, at)}`
    case 'paused':
      if (now.resumes_at === null) return now.why === undefined ? 'paused' : standsText(now.why)
      return pausedText({ ...now, resumes_at: now.resumes_at }, at)
    case 'waiting_input':
      return 'waits for you: pcc pending'
    case 'idle':
      return 'starts'
    default:
      return firstLine(now.last_line ?? '')
  }
}
