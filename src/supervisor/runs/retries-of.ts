import { type Task, USUAL_RETRIES } from '../../domain/task.ts'
import type { RunRow } from '../../store/runs/rows.ts'
import type { RunSettings } from './run-settings.ts'

/**
 * Tries after the first that a task has in a run: what the person said of this run, else what stands on the task, else the
 * setting. A row has no room for "nothing was said": that is the usual number.
 */
export function retriesOf(
  { max_retries: own }: Pick<Task, 'max_retries'>,
  { options }: Pick<RunRow, 'options'>,
  { maxRetries }: Pick<RunSettings, 'maxRetries'>,
): number {
  return options.max_retries ?? (own === USUAL_RETRIES ? maxRetries : own)
}
