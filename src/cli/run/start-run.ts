import type { BrainKind } from '../../domain/brain/brain-kind.ts'
import type { BudgetLimits } from '../../domain/budget/budget.ts'
import type { ModelStrategy } from '../../domain/runs/model-strategy.ts'
import type { StartRun } from '../../domain/runs/run.ts'
import type { RunDetail, RunPlan } from '../../domain/runs/run-view.ts'
import { openClient } from '../client.ts'
import type { Context } from '../context.ts'
import { shownPath } from '../render/format.ts'
import { brainKeys, callersSettings, sessionEnvironment } from '../session-env.ts'
import { planLines } from './plan-lines.ts'
import { isScheduled, setSchedule, type WhenFlags } from './schedule/set-schedule.ts'
import { type NamedTarget, resolveTarget } from './target.ts'
import { watchRun } from './watch-run.ts'
import { targetText } from './words.ts'

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
export async function startRun(typed: string, flags: RunFlags, context: Context): Promise<number> {
  const { json, quiet, out, terminal } = context
  const client = await openClient(context.places, context)
  const named = await resolveTarget(typed, { project: flags.project, client })
  const request = await requestOf(named, flags, context)
  if (flags.dryRun) {
    const plan = await client.request<RunPlan>('POST', '/runs/plan', request)
    for (const line of json ? [JSON.stringify(plan, null, 2)] : planLines(plan, terminal)) out(line)
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

async function requestOf({ project, target }: NamedTarget, flags: RunFlags, context: Context): Promise<StartRun> {
  const caller = { places: context.places, env: context.env, project, agent: flags.agent }
  const { config, settings } = callersSettings(context.places, context.env)
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

function headerLine(run: RunDetail, { env }: Context): string {
  return `Run ${run.id}: ${targetText(run)} in ${shownPath(run.project, process.cwd(), env['HOME'])}`
}
