import { AppError } from '../../base/errors.ts'
import type { AgentChoice } from '../../domain/agent-choice.ts'
import { loadConfig } from '../../domain/config/load.ts'
import type { Task } from '../../domain/task.ts'
import { trustedFile, trustStatus } from '../../policy/trust/trust.ts'
import type { RunRow } from '../../store/tables.ts'
import { findUnchecked } from '../../workspace/verify/unchecked.ts'
import type { PrepareDeps } from '../session/prepare.ts'
import { agentFor, settingsOfCaller } from '../session/settings.ts'
import type { BeginOptions } from './begin-next.ts'
import { applyModelNames, chooseStrategy, modelNamesFor } from './models.ts'

/** The settings of a run. */
export type RunSettings = Pick<BeginOptions, 'strategy' | 'model' | 'names'> & {
  agent: AgentChoice
  /** Retries of a task that sets no number of its own. */
  maxRetries: number
  /** The waits before consecutive retries after a transient failure. */
  retryMs: readonly number[]
  /** Most attempts of the run. */
  limit: number | undefined
  /** Tasks at once. */
  parallel: number
  keepEnvironment: boolean
  /** Whether work that an agent calls done is verified. */
  verify: boolean
  /** Agents by the label of a task. */
  labels: readonly string[]
  /** Whether the next agent is started while the current one works. */
  warm: boolean
  /** How many processor cores must have nothing to do then. */
  warmCores: number
  /** Whether the index of the project may be asked. */
  knows: boolean
}

/**
 * One, five and fifteen minutes with the default `sessions.retry_seconds`. The session itself has retried for two and a half minutes
 * before that.
 */
const RETRY_FACTORS = [12, 60, 180]

/** Loads the settings of a run: those of the shell that started it, which the project may tighten. */
export async function runSettings(
  { project, options }: Pick<RunRow, 'project' | 'options'>,
  deps: PrepareDeps,
): Promise<RunSettings> {
  const { paths, env } = settingsOfCaller(options, deps)
  const trusted = trustedFile(await trustStatus(paths, project))
  const loaded = await loadConfig({ paths, env, project, trusted })
  const { execution, sessions, knowledge } = loaded.config
  const agent = agentFor({ ...options, project }, loaded)
  const names = modelNamesFor(agent, loaded)
  const chosen = chooseStrategy({
    flags: { model: options.model, strategy: options.strategy },
    settings: { model: execution.model, strategy: execution.model_strategy },
  })
  if ('problem' in chosen) throw new AppError('bad_request', { problem: chosen.problem })
  return {
    agent,
    ...applyModelNames(chosen, names),
    names,
    knows: knowledge.enabled,
    maxRetries: execution.max_retries,
    retryMs: RETRY_FACTORS.map(factor => sessions.retry_seconds * 1000 * factor),
    limit: options.limit ?? (execution.limit || undefined),
    keepEnvironment: sessions.keep_environment,
    warm: execution.warm,
    warmCores: execution.warm_cores,
    labels: options.agent === undefined ? loaded.config.failover.labels : [],
    parallel: options.parallel ?? execution.parallel,
    verify: options.verify ?? execution.verify,
  }
}

/** Why the work of a run may be unverified, in words with what to type; undefined if commands check it. */
export async function whyUnverified(
  { project, options }: Pick<RunRow, 'project' | 'options'>,
  deps: Pick<PrepareDeps, 'paths' | 'env'>,
): Promise<string | undefined> {
  if (options.verify === false) return 'without verification, as --no-verify or execution.verify says'
  const { paths, env } = settingsOfCaller(options, deps)
  const trusted = trustedFile(await trustStatus(paths, project))
  const unchecked = await findUnchecked(await loadConfig({ paths, env, project, trusted }), project)
  return unchecked && `${unchecked.says}; ${unchecked.fix}`
}

/** How often a task is retried in a run: the run's option, else the task's own number, else the setting. */
export function retriesFor(
  { max_retries: own }: Pick<Task, 'max_retries'>,
  { options }: Pick<RunRow, 'options'>,
  { maxRetries }: Pick<RunSettings, 'maxRetries'>,
): number {
  return options.max_retries ?? own ?? maxRetries
}
