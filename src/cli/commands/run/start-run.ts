import { existsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { AppError } from '../../../base/errors.ts'
import { neutral } from '../../../base/neutral.ts'
import type { BudgetLimits } from '../../../domain/budget.ts'
import type { LoadedConfig } from '../../../domain/config/load.ts'
import type { BrainKind, ModelStrategy } from '../../../domain/option-values.ts'
import type { RunDetail, RunPlan, RunTarget, StartRun } from '../../../domain/run.ts'
import type { TaskView } from '../../../domain/task.ts'
import { openClient } from '../../connection/client.ts'
import type { DaemonConnection } from '../../connection/connection.ts'
import { type CommandContext, isInteractive } from '../../context.ts'
import { RemoteError } from '../../errors.ts'
import { counted, money, shownPath } from '../../render/format.ts'
import { cut, firstLine, type Terminal, wrap } from '../../render/text.ts'
import { brainKeys, callerSettings, sessionEnvironment } from '../../session-env.ts'
import { taskPath } from '../task/call.ts'
import type { ScheduleFlags } from './control.ts'
import { targetText } from './format.ts'

/** The options of `pcc run`. */
export interface RunFlags extends ScheduleFlags {
  project?: string
  limit?: number
  parallel?: number
  pr?: boolean
  agent?: string
  model?: string
  modelStrategy?: ModelStrategy
  maxRetries?: number
  verify?: boolean
  budget?: BudgetLimits
  autoApprove?: boolean
  autoResume?: boolean
  brain?: BrainKind
  brainModel?: string
  confidence?: number
  dryRun?: boolean
  detach?: boolean
}

/** Starts or schedules a run for `pcc run`, and watches it here or leaves it in the background. Returns the exit code. */
export async function startRun(targetName: string, flags: RunFlags, context: CommandContext): Promise<number> {
  const { json, quiet, out, terminal } = context
  const isLater = flags.at !== undefined || flags.every !== undefined || flags.whenQuotaBelow !== undefined
  // A time that cannot be understood is refused before anything else is asked.
  const when = isLater ? await (await import('./control.ts')).readSchedule(flags) : undefined
  // What comes next is loaded while the daemon answers.
  const [client, { preflight }, { loadSettings }] = await Promise.all([
    openClient(context.paths, context),
    import('../preflight.ts'),
    import('../../load-settings.ts'),
  ])
  const target = await resolveTarget(targetName, { project: flags.project, client })
  const loaded = await loadSettings({ ...context, project: target.project })
  const request = await buildRequest(target, { ...flags, loaded }, context)
  const { project, env } = request
  const { agent } = flags
  const verify = flags.verify === false ? false : undefined
  const ready = preflight({ project, env, agent, verify, merges: true, client, context, loaded, offers: !flags.dryRun })
  if (flags.dryRun) {
    const [plan] = await Promise.all([client.request<RunPlan>('POST', '/runs/plan', request), ready])
    out(json ? JSON.stringify(plan, null, 2) : runPlanLines(plan, terminal).join('\n'))
    return plan.steps.length === 0 ? NOTHING_TO_DO : 0
  }
  const [plan] = await Promise.all([
    json || quiet ? undefined : client.request<RunPlan>('POST', '/runs/plan', request),
    // A person at the terminal may mend something first. Anybody else gets the same lines while the run begins.
    when || isInteractive(context) ? ready : undefined,
  ])
  // A dry run needs none of it.
  const { setSchedule, watchRun } = await import('./control.ts')
  if (when) return setSchedule(request, when, { client, context })
  const started = client.request<RunDetail>('POST', '/runs', request)
  started.catch(() => undefined) // it is awaited below, after the lines of the check
  await ready
  const run = await started
  if (run.mended) context.note(`Run ${run.id} waited for its account; it goes on with the login of this shell.`)
  if (flags.detach) {
    const lines = [...detachedLines(run), ...(plan ? modelLines(plan, terminal) : [])]
    for (const line of json ? [JSON.stringify(run, null, 2)] : lines) out(line)
    return 0
  }
  if (plan) for (const line of [headerLine(run, context), ...modelLines(plan, terminal)]) out(line)
  return watchRun(run, { client, context })
}

/** The exit code of a run that ends with nothing to do. */
const NOTHING_TO_DO = 3

async function buildRequest(
  { project, target }: ResolvedTarget,
  flags: RunFlags & { loaded: LoadedConfig },
  context: CommandContext,
): Promise<StartRun> {
  const { paths, env } = context
  const caller = { paths, env, project, agent: flags.agent, loaded: flags.loaded }
  const { config, settings } = callerSettings(context.paths, context.env)
  return {
    project,
    target,
    env: await sessionEnvironment(caller),
    config,
    settings: {
      ...{ ...settings, ...(await brainKeys(caller)) },
      ...(flags.limit === 0 && { PCC_LIMIT: '0' }),
      ...(flags.pr && { PCC_MERGE_MODE: 'pr' }),
    },
    ...(flags.limit && { limit: flags.limit }),
    ...(flags.parallel !== undefined && { parallel: flags.parallel }),
    ...(flags.agent !== undefined && { agent: flags.agent }),
    ...(flags.model !== undefined && { model: flags.model }),
    ...(flags.modelStrategy !== undefined && { strategy: flags.modelStrategy }),
    ...(flags.maxRetries !== undefined && { max_retries: flags.maxRetries }),
    ...(flags.verify === false && { verify: false }),
    ...(flags.budget && { budget: flags.budget }),
    ...(flags.autoApprove !== undefined && { auto_approve: flags.autoApprove }),
    ...(flags.autoResume !== undefined && { auto_resume: flags.autoResume }),
    ...(flags.brain !== undefined && { brain: flags.brain }),
    ...(flags.brainModel !== undefined && { brain_model: flags.brainModel }),
    ...(flags.confidence !== undefined && { confidence: flags.confidence }),
  }
}

function detachedLines(run: RunDetail): string[] {
  return [
    `Run ${run.mended ? 'goes on' : 'started'}: ${run.id} (${targetText(run)})`,
    `Watch it with: pcc attach ${run.id}`,
  ]
}

function headerLine(run: RunDetail, { env }: CommandContext): string {
  return `Run ${run.id}: ${targetText(run)} in ${shownPath(run.project, process.cwd(), env['HOME'])}`
}

interface ResolvedTarget {
  project: string
  target: RunTarget
}

/**
 * Resolves the target of `pcc run <target>`: a path is a project, an id, the beginning of one or the id in an
 * imported file is a task, and any other name is a feature of the project. A name that is both a feature and a directory is the feature; `./name` is the directory.
 */
export async function resolveTarget(
  name: string,
  { project, client }: { project: string | undefined; client: DaemonConnection },
): Promise<ResolvedTarget> {
  const directory = resolve(project ?? '.')
  if (isPath(name)) return { project: checkDirectory(name), target: { kind: 'project' } }
  if (name.startsWith('t-')) return taskTarget((await client.request<TaskReply>('GET', taskPath(name))).task)
  const { tasks } = await client.request<{ tasks: TaskView[] }>(
    'GET',
    `/tasks?project=${encodeURIComponent(directory)}&feature=${encodeURIComponent(name)}&limit=1`,
  )
  if (tasks.length > 0) return { project: directory, target: { kind: 'feature', name } }
  const task = /^[0-9a-f]{2,6}$/i.test(name) ? await findTask(name, client) : undefined
  if (task) return taskTarget(task)
  if (isDirectory(name)) return { project: resolve(name), target: { kind: 'project' } }
  const named = await findTask(name, client)
  if (named) return taskTarget(named)
  if (existsSync(name)) throw new AppError('project_not_directory', { path: name })
  throw new AppError('run_target_unknown', { target: name })
}

interface TaskReply {
  task: TaskView
}

function isPath(name: string): boolean {
  return name === '.' || name === '..' || name.includes('/') || name === ''
}

async function findTask(ref: string, client: DaemonConnection): Promise<TaskView | undefined> {
  try {
    return (await client.request<TaskReply>('GET', taskPath(ref))).task
  } catch (error) {
    if (error instanceof RemoteError && error.code === 'task_not_there') return undefined
    throw error
  }
}

function taskTarget({ id, project }: TaskView): ResolvedTarget {
  return { project, target: { kind: 'task', id } }
}

/** Checks a path before it is sent to the daemon. */
function checkDirectory(path: string): string {
  const stats = statSync(resolve(path), { throwIfNoEntry: false })
  if (!stats) throw new AppError('project_missing', { path })
  if (!stats.isDirectory()) throw new AppError('project_not_directory', { path })
  return resolve(path)
}

function isDirectory(path: string): boolean {
  return statSync(resolve(path), { throwIfNoEntry: false })?.isDirectory() === true
}

/** `pcc run --dry-run`: the tasks in order, each with its model and the reason for it. */
export function runPlanLines(plan: RunPlan, { paint, width }: Terminal): string[] {
  const { steps, held_up, beyond_limit } = plan
  const digits = String(steps.length).length
  const rows = steps.flatMap(({ id, title, model, why }, index) => [
    cut(`${String(index + 1).padStart(digits)}. ${id}  ${firstLine(title)}`, width),
    paint('dim', cut(`${' '.repeat(digits + 2)}${model === null ? '' : `${neutral(model)}: `}${neutral(why)}`, width)),
  ])
  const nothing =
    held_up.length === 0
      ? 'There are no open tasks. Add one with: pcc task add "…". Or import a list: pcc task import plan.md'
      : 'Nothing can be done: no task is ready.'
  const heading =
    steps.length === 0
      ? nothing
      : `${counted(steps.length, 'task')}, in this order if each goes well at its first try; nothing was started:`
  return [
    heading,
    ...rows,
    ...worktreeLines(plan),
    ...modelLines(plan, { width }),
    ...(beyond_limit > 0 ? [`${counted(beyond_limit, 'more task')} would be left by the limit.`] : []),
    ...(held_up.length > 0 ? ['Would not run:'] : []),
    ...held_up.flatMap(({ id, title, why }) =>
      wrap(`${id}  ${firstLine(title)}: ${neutral(why)}`, width - 2).map(line => `  ${line}`),
    ),
  ]
}

/** Which models the tasks go to, and what that is expected to cost. Retries, verifiers and brains cost more. */
function modelLines({ models, strategy }: RunPlan, { width }: Pick<Terminal, 'width'>): string[] {
  if (models.length === 0) return []
  const parts = models.map(({ model, tasks, cost_usd, by, attempts }) => {
    const from = { history: `the mean of ${attempts} earlier`, prices: 'estimated from list prices' }[by ?? 'history']
    const cost = cost_usd === null ? 'cost not known' : `about ${money(cost_usd)}, ${from}`
    return `${model === null ? "the agent's own model" : neutral(model)} for ${counted(tasks, 'task')} (${cost})`
  })
  const costs = models.flatMap(({ cost_usd }) => cost_usd ?? [])
  const isWhole = models.length > 1 && costs.length === models.length
  const all = isWhole ? `; about ${money(costs.reduce((sum, cost) => sum + cost, 0))} in all` : ''
  return wrap(
    `Models, by the strategy ${strategy}: ${parts.join(', ')}${all}. Others: --model, --model-strategy.`,
    width,
  )
}

/** Where the tasks would be done, and how many at once. */
function worktreeLines({ steps, parallel, in_place }: RunPlan): string[] {
  if (steps.length === 0) return []
  if (in_place !== null) return [`One at a time, in the project itself: ${neutral(in_place)}.`]
  return [`Each in a worktree of its own, ${parallel === 1 ? 'one at a time' : `at most ${parallel} at once`}.`]
}
