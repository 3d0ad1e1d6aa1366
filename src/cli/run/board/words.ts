import type { AttemptView, RunDetail } from '../../../domain/runs/run-view.ts'
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

/** What a task that was begun does or waits for right now. */
export function doingText({ now }: AttemptView, at: number): string {
  if (!now) return ''
  if (now.decision !== null) return `waits for you: pcc respond ${now.decision}`
  if (now.landing) return now.landing === 'merging' ? 'is merged' : 'is verified'
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
