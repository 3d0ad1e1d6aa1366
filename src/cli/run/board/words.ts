import type { AttemptNow, AttemptView, RunDetail } from '../../../domain/runs/run-view.ts'
import { duration, wakeTime } from '../../render/format.ts'
import { firstLine } from '../../render/text.ts'
import { windowName } from '../../render/window-name.ts'

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
export const LANDING = { verifying: 'is being verified', merging: 'is being merged' } as const

/** What a person is to say about it; between its checks and its merge that is a review. */
export function waitsText(task: string, { landing, decision }: Pick<AttemptNow, 'landing' | 'decision'>): string {
  return landing === 'merging' ? `waits for your review: pcc review ${task}` : `waits for you: pcc respond ${decision}`
}

/** What a task that was begun does or waits for right now. */
export function doingText({ task_id, now }: AttemptView, at: number): string {
  if (!now) return ''
  if (now.decision !== null) return waitsText(task_id, now)
  if (now.held_up !== undefined) return `its merge waits: ${firstLine(now.held_up)}`
  if (now.landing) return LANDING[now.landing]
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
