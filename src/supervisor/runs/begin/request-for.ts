import type { StartSession } from '../../../domain/api.ts'
import type { BudgetLimits } from '../../../domain/budget/budget.ts'
import { brainKeysIn } from '../../../domain/config/environment-layer.ts'
import type { Task } from '../../../domain/task.ts'
import type { RunRow } from '../../../store/runs/rows.ts'
import { nameFromTask } from '../../start/session-name.ts'

export interface Wanted {
  prompt: string
  model: string | undefined
  /** In place of the one of the run. */
  agent?: string | undefined
  env: Record<string, string>
  budget: BudgetLimits | undefined
}

/** What the session of a run's task is started with. */
export function requestFor({ project, options }: RunRow, { title }: Task, wanted: Wanted): StartSession {
  const { limit: _, model: __, strategy: ___, max_retries: ____, verify: _____, budget: ______, ...rest } = options
  const { parallel: _______, ...session } = rest
  const { prompt, model, agent, env, budget } = wanted
  const keys = brainKeysIn(env)
  return {
    ...{ ...session, project, task: prompt, name: nameFromTask(title), env },
    ...((session.settings || Object.keys(keys).length > 0) && { settings: { ...session.settings, ...keys } }),
    ...(model !== undefined && { model }),
    ...(agent !== undefined && { agent }),
    ...(budget && { budget }),
  }
}
