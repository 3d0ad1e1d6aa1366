import type { PastAttempt } from '../../../src/domain/attempt.ts'

/** An attempt that is over. */
export function past(given: Partial<PastAttempt> = {}): PastAttempt {
  return {
    task_id: 't-000001',
    number: 1,
    model: null,
    outcome: 'done',
    reason: null,
    result: null,
    next_model: null,
    ...given,
  }
}
