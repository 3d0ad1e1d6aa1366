import { AppError } from '../../base/errors.ts'
import type { AgentChoice } from '../../domain/agent-choice.ts'
import { loadConfig } from '../../domain/config/load.ts'
import { DEFAULT_RETRIES, type Task } from '../../domain/task.ts'
import { trustedFile, trustStatus } from '../../policy/trust/trust.ts'
import type { RunRow } from '../../store/tables.ts'
import type { PrepareDeps } from '../session/prepare.ts'
import { agentFor, settingsOfCaller } from '../session/settings.ts'
import type { BeginOptions } from './begin-next.ts'
import { byNames, chooseStrategy, namesFor } from './models.ts'

/** The settings under which a run goes on. */
export type RunSettings = Pick<BeginOptions, 'strategy' | 'model' | 'names'> & {
  agent: AgentChoice
  /** Tries after the first, of a task that says nothing of its own. */
  maxRetries: number
  /** How long a task waits for each try in a row after a cause that may pass. */
  retryMs: readonly number[]
  /** Most attempts. */
  limit: number | undefined
  /** Tasks at once. */
  parallel: number
  keepEnvironment: boolean
  /** Whether what an agent calls done is to be checked. */
  verify: boolean
  /** Agents by the label of a task. */
  labels: readonly string[]
  /** Whether the next agent is started while the current one works. */
  warm: boolean
}

/** A session has tried for two and a half minutes by then: one, five and fifteen minutes, where nothing else is set. */
const RETRY_FACTORS = [12, 60, 180]

/** The settings in force for a run: those of the shell that started it, as the project may tighten them. */
export async function runSettings(
  { project, options }: Pick<RunRow, 'project' | 'options'>,
  deps: PrepareDeps,
): Promise<RunSettings> {
  const { paths, env } = settingsOfCaller(options, deps)
  const trusted = trustedFile(await trustStatus(paths, project))
  const loaded = await loadConfig({ paths, env, project, trusted })
  const { execution, sessions } = loaded.config
  const agent = agentFor({ ...options, project }, loaded)
  const names = namesFor(agent, loaded)
  const settled = chooseStrategy({
    flags: { model: options.model, strategy: options.strategy },
    settings: { model: execution.model, strategy: execution.model_strategy },
  })
  if ('problem' in settled) throw new AppError('bad_request', { route: 'POST /runs', problem: settled.problem })
  return {
    agent,
    ...byNames(settled, names),
    names,
    maxRetries: execution.max_retries,
    retryMs: RETRY_FACTORS.map(factor => sessions.retry_seconds * 1000 * factor),
    limit: options.limit ?? (execution.limit || undefined),
    keepEnvironment: sessions.keep_environment,
    warm: execution.warm,
    labels: options.agent === undefined ? loaded.config.failover.labels : [],
    parallel: options.parallel ?? execution.parallel,
    verify: options.verify ?? execution.verify,
  }
}

/**
 * Tries after the first that a task has in a run: what the person said of this run, else what stands on the task, else the
 * setting. A row has no room for "nothing was said": that is the usual number.
 */
export function retriesOf(
  { max_retries: own }: Pick<Task, 'max_retries'>,
  { options }: Pick<RunRow, 'options'>,
  { maxRetries }: Pick<RunSettings, 'maxRetries'>,
): number {
  return options.max_retries ?? (own === DEFAULT_RETRIES ? maxRetries : own)
}
