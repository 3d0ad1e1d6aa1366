import type { Task } from '../../../domain/task.ts'
import type { AttemptRow } from '../../../store/runs/rows.ts'
import { retryPlan, sinceReset } from '../../retries/retry-plan.ts'

/**
 * When a task may be tried again that failed with what may pass by itself, and why not before; nothing where it may now. The times
 * stand in the attempts' rows, so a restart waits no longer and no shorter.
 */
export function tooEarly(
  { id, retries }: Task,
  attempts: readonly AttemptRow[],
  { retryMs, now }: { retryMs: readonly number[]; now: number },
): { notBefore: number; why: string } | undefined {
  const history = sinceReset(attempts, retries)
  const plan = retryPlan(history, { maxRetries: Number.POSITIVE_INFINITY, retryMs })
  const last = history.at(-1)
  const notBefore = (last?.ended_at ?? 0) + (plan.again ? plan.afterMs : 0)
  // A clock that was set back leaves its end in the future: that is nothing to wait for.
  if (!plan.again || notBefore <= now || (last?.ended_at ?? 0) > now) return undefined
  return { notBefore, why: `${id} is tried again at ${new Date(notBefore).toISOString()}: ${last?.reason ?? ''}` }
}
