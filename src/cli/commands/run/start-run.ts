import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { AppError } from '../../../base/errors.ts'
import type { BudgetLimits } from '../../../domain/budget.ts'
import type { BrainKind, ModelStrategy } from '../../../domain/option-values.ts'
import type { RunDetail, RunPlan, RunTarget, StartRun } from '../../../domain/run.ts'
import type { TaskView } from '../../../domain/task.ts'
import { openClient } from '../../connection/client.ts'
import type { DaemonConnection } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { RemoteError } from '../../errors.ts'
import { counted, shownPath } from '../../render/format.ts'
import { cut, firstLine, neutral, type Terminal } from '../../render/text.ts'
import { brainKeys, callerSettings, sessionEnvironment } from '../../session-env.ts'
import { isScheduled, setSchedule, type WhenFlags, watchRun } from './control.ts'
import { targetText } from './format.ts'

/** What `pcc run` was called with. */
export interface RunFlags extends WhenFlags {
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

/** The body of `pcc run`: a new run, watched here or left in the background. Returns the exit code. */
export async function startRun(typed: string, flags: RunFlags, context: CommandContext): Promise<number> {
  const { json, quiet, out, terminal } = context
  const client = await openClient(context.paths, context)
  const named = await resolveTarget(typed, { project: flags.project, client })
  const request = await requestOf(named, flags, context)
  if (flags.dryRun) {
    const plan = await client.request<RunPlan>('POST', '/runs/plan', request)
    for (const line of json ? [JSON.stringify(plan, null, 2)] : runPlanLines(plan, terminal)) out(line)
    return plan.steps.length === 0 ? NOTHING_TO_DO : 0
  }
  if (isScheduled(flags)) return setSchedule(request, flags, { client, context })
  const run = await client.request<RunDetail>('POST', '/runs', request)
  if (flags.detach) {
    for (const line of json ? [JSON.stringify(run, null, 2)] : detachedLines(run)) out(line)
    return 0
  }
  if (!json && !quiet) out(headerLine(run, context))
  return watchRun(run, { client, context })
}

/** As of a run that ends so. */
const NOTHING_TO_DO = 3

async function requestOf(
  { project, target }: NamedTarget,
  flags: RunFlags,
  context: CommandContext,
): Promise<StartRun> {
  const caller = { paths: context.paths, env: context.env, project, agent: flags.agent }
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
  return [`Run started: ${run.id} (${targetText(run)})`, `Watch it with: pcc attach ${run.id}`]
}

function headerLine(run: RunDetail, { env }: CommandContext): string {
  return `Run ${run.id}: ${targetText(run)} in ${shownPath(run.project, process.cwd(), env['HOME'])}`
}

interface NamedTarget {
  project: string
  target: RunTarget
}

/**
 * What a person means by `pcc run <target>`: a path is a project, an id or the beginning of one is a task, and what else there
 * is, is a feature of the project. A word that is a feature and a directory at once is the feature: `./word` is the directory.
 */
export async function resolveTarget(
  typed: string,
  { project, client }: { project: string | undefined; client: DaemonConnection },
): Promise<NamedTarget> {
  const here = resolve(project ?? '.')
  if (isPath(typed)) return { project: directoryAt(typed), target: { kind: 'project' } }
  if (typed.startsWith('t-')) return taskTarget((await client.request<Found>('GET', taskPath(typed))).task)
  const { tasks } = await client.request<{ tasks: TaskView[] }>(
    'GET',
    `/tasks?project=${encodeURIComponent(here)}&feature=${encodeURIComponent(typed)}&limit=1`,
  )
  if (tasks.length > 0) return { project: here, target: { kind: 'feature', name: typed } }
  const task = /^[0-9a-f]{2,6}$/i.test(typed) ? await taskIfThere(typed, client) : undefined
  if (task) return taskTarget(task)
  if (isDirectory(typed)) return { project: resolve(typed), target: { kind: 'project' } }
  throw new AppError('run_target_unknown', { target: typed })
}

interface Found {
  task: TaskView
}

function isPath(typed: string): boolean {
  return typed === '.' || typed === '..' || typed.includes('/') || typed === ''
}

function taskPath(ref: string): string {
  return `/tasks/${encodeURIComponent(ref)}`
}

async function taskIfThere(ref: string, client: DaemonConnection): Promise<TaskView | undefined> {
  try {
    return (await client.request<Found>('GET', taskPath(ref))).task
  } catch (error) {
    if (error instanceof RemoteError && error.code === 'task_not_there') return undefined
    throw error
  }
}

function taskTarget({ id, project }: TaskView): NamedTarget {
  return { project, target: { kind: 'task', id } }
}

/** Looked at here as well as by the daemon: a mistyped path should not start one. */
function directoryAt(path: string): string {
  const found = statSync(resolve(path), { throwIfNoEntry: false })
  if (!found) throw new AppError('project_missing', { path })
  if (!found.isDirectory()) throw new AppError('project_not_directory', { path })
  return resolve(path)
}

function isDirectory(path: string): boolean {
  return statSync(resolve(path), { throwIfNoEntry: false })?.isDirectory() === true
}

/** `pcc run --dry-run`: the order, with the model of each and why. */
export function runPlanLines(plan: RunPlan, { paint, width }: Terminal): string[] {
  const { steps, held_up, beyond_limit } = plan
  const digits = String(steps.length).length
  const rows = steps.flatMap(({ id, title, model, why }, index) => [
    cut(`${String(index + 1).padStart(digits)}. ${id}  ${firstLine(title)}`, width),
    paint('dim', cut(`${' '.repeat(digits + 2)}${model === null ? '' : `${neutral(model)}: `}${neutral(why)}`, width)),
  ])
  const heading =
    steps.length === 0
      ? 'Nothing can be done: no task of it is ready.'
      : `${counted(steps.length, 'task')}, in this order if each goes well at its first try; nothing was started:`
  return [
    heading,
    ...rows,
    ...placeLines(plan),
    ...(beyond_limit > 0 ? [`${counted(beyond_limit, 'more task')} would be left by the limit.`] : []),
    ...(held_up.length > 0 ? ['Would not run:'] : []),
    ...held_up.map(({ id, title, why }) => cut(`  ${id}  ${firstLine(title)}: ${neutral(why)}`, width)),
  ]
}

/** Where it would be done, and how much at once. */
function placeLines({ steps, parallel, in_place }: RunPlan): string[] {
  if (steps.length === 0) return []
  if (in_place !== null) return [`One at a time, in the project itself: ${neutral(in_place)}.`]
  return [`Each in a worktree of its own, ${parallel === 1 ? 'one at a time' : `at most ${parallel} at once`}.`]
}
