import type { RunOutcome } from '../../../domain/attempt.ts'
import type { AttemptNow, AttemptView, HeldBackTask, RunDetail, RunView, TaskCounts } from '../../../domain/run.ts'
import { duration, wakeTime, windowName } from '../../render/format.ts'
import { firstLine, neutral, type Tone } from '../../render/text.ts'

/** How an ending looks. */
export const OUTCOME_LOOKS: Record<RunOutcome, { glyph: string; tone: Tone; words: string }> = {
  complete: { glyph: '✓', tone: 'green', words: 'complete' },
  failure: { glyph: '✗', tone: 'red', words: 'failed' },
  limit_reached: { glyph: '■', tone: 'yellow', words: 'stopped by its limit' },
  blocked: { glyph: '○', tone: 'yellow', words: 'blocked' },
  no_plan: { glyph: '○', tone: 'yellow', words: 'nothing to do' },
  interrupted: { glyph: '■', tone: 'yellow', words: 'interrupted' },
}

type Shown = Pick<RunView, 'state' | 'outcome' | 'stopping'>

/** `● running`, `⏸ paused`, `✓ complete`. */
export function runStateText({ state, outcome, stopping }: Shown): { text: string; tone: Tone } {
  if (outcome) {
    const { glyph, tone, words } = OUTCOME_LOOKS[outcome]
    return { text: `${glyph} ${words}`, tone }
  }
  if (state === 'paused') return { text: '⏸ paused', tone: 'yellow' }
  return stopping ? { text: '● ends after this', tone: 'yellow' } : { text: '● running', tone: 'green' }
}

/** What a person calls what it drains. */
export function targetText({ target }: Pick<RunView, 'target'>): string {
  if (target.kind === 'project') return 'the whole project'
  return target.kind === 'feature' ? `feature ${neutral(target.name)}` : `task ${target.id}`
}

/** `3 done (unverified), 1 failed, 2 left` */
export function countsText({ tasks, unverified }: Pick<RunView, 'tasks' | 'unverified'>): string {
  const { done, failed, waiting, left } = countsOf(tasks)
  const checked = done - unverified
  return (
    [
      ...(checked > 0 ? [`${checked} done`] : []),
      ...(unverified > 0 ? [`${unverified} done (unverified)`] : []),
      ...(failed > 0 ? [`${failed} failed`] : []),
      ...(waiting > 0 ? [`${waiting} waiting`] : []),
      ...(left > 0 ? [`${left} left`] : []),
    ].join(', ') || 'no tasks'
  )
}

/** `3 merged, 1 not merged`; nothing where nothing was done in a worktree. */
export function mergedText({ merged, unmerged }: Pick<RunView, 'merged' | 'unmerged'>): string | undefined {
  const told = [...(merged > 0 ? [`${merged} merged`] : []), ...(unmerged > 0 ? [`${unmerged} not merged`] : [])]
  return told.length === 0 ? undefined : told.join(', ')
}

/** The states as a person counts them. */
export function countsOf(tasks: TaskCounts): Record<'done' | 'failed' | 'waiting' | 'left', number> {
  const of = (...states: (keyof TaskCounts)[]) => states.reduce((sum, state) => sum + (tasks[state] ?? 0), 0)
  return {
    done: of('done'),
    failed: of('failed'),
    waiting: of('waiting'),
    left: of('blocked', 'ready', 'running', 'verifying', 'merging'),
  }
}

/** Why nothing new begins, while it is open; nothing where it just works. */
export function heldUpText({ state, reason }: Pick<RunView, 'state' | 'reason'>): string | undefined {
  if (reason === null || state === 'ended') return undefined
  return state === 'paused' ? `Paused: ${neutral(reason)}` : `The next task cannot begin yet: ${neutral(reason)}`
}

/** `t-1 Name waits for t-2: both will probably touch src/api` */
export function apartText({ id, title, beside, path }: HeldBackTask): string {
  return `${id} ${firstLine(title)} waits for ${beside}: both will probably touch ${neutral(path)}`
}

/** `$0.42` */
export function costText(cost: number): string {
  return `$${cost.toFixed(2)}`
}

/** `62% of the 5-hour window (warning)`; nothing where it is not known. */
export function quotaText({ quota }: Pick<RunDetail, 'quota'>): string | undefined {
  if (!quota) return undefined
  const { level, window, utilization } = quota
  return `${Math.round(utilization * 100)}% of the ${windowName(window)} window${level === 'unknown' ? '' : ` (${level})`}`
}

/** `about 12m 3s`, by what other tasks took; nothing where it is not known. */
export function leftText({ left_ms }: Pick<RunDetail, 'left_ms'>): string | undefined {
  return left_ms === null ? undefined : `about ${duration(left_ms)}`
}

/** What becomes of work that its agent has called done. */
export const COMPLETION_TEXTS = { verifying: 'is being verified', merging: 'is being merged' } as const

/** What a person is to say about it; between its checks and its merge that is a review. */
export function waitsText(task: string, { landing, decision }: Pick<AttemptNow, 'landing' | 'decision'>): string {
  return landing === 'merging' ? `waits for your review: pcc review ${task}` : `waits for you: pcc respond ${decision}`
}

/** What a task that was begun does or waits for right now. */
export function doingText({ task_id, now }: AttemptView, at: number): string {
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
      return now.resumes_at === null ? 'paused' : `is tried again at ${wakeTime(now.resumes_at, at)}`
    case 'waiting_input':
      return 'waits for you: pcc pending'
    case 'idle':
      return 'starts'
    default:
      return firstLine(now.last_line ?? '')
  }
}
