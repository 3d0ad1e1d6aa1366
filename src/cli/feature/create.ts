import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { AppError } from '../../base/errors.ts'
import type { BudgetLimits } from '../../domain/budget/budget.ts'
import { DOCUMENTS } from '../../domain/features/document.ts'
import { type CreateFeature, FeatureName, type FeatureUntil, type FeatureView } from '../../domain/features/feature.ts'
import { documentPath } from '../../tasks/features/files.ts'
import { type Client, openClient } from '../client.ts'
import type { Context } from '../context.ts'
import { isInteractive } from '../live/interactive.ts'
import { RemoteError } from '../report.ts'
import { brainKeys, callersSettings, sessionEnvironment } from '../session-env.ts'
import { askNext } from './ask-next.ts'
import { openInEditor } from './edit.ts'
import { featurePath } from './path.ts'
import { readSource } from './read-source.ts'
import { watchPhase } from './watch-phase.ts'
import { headLines, readyLines, standingLines } from './words.ts'

/** What `pcc feature create` was called with. */
export interface CreateFlags {
  from?: string
  ai: boolean
  until?: FeatureUntil
  yes?: true
  agent?: string
  model?: string
  budget?: BudgetLimits
  detach?: true
  project?: string
}

const HALTED = 1
const NOT_READY = 0

/** The body of `pcc feature create`: from wherever the feature is to where it is to stop. Returns the exit code. */
export async function createFeature(name: string, flags: CreateFlags, context: Context): Promise<number> {
  const parsed = FeatureName.safeParse(name)
  if (!parsed.success) {
    const problem = `"${name}" cannot be the name of a feature: ${parsed.error.issues[0]?.message}`
    throw new AppError('usage', { problem, command: 'feature create' })
  }
  const project = resolve(flags.project ?? '.')
  const from = flags.from === undefined ? undefined : await readSource(flags.from)
  const client = await openClient(context.places, context)
  const interactive = isInteractive(context) && !flags.detach
  const there = await featureIfThere(client, { project, name })
  if (!interactive && flags.ai && from === undefined) refuseInterview(there, { project, name })
  const asksBetween = interactive && !flags.yes && flags.until === undefined
  const request = await requestOf({ name, project, from, flags, context })
  const until = flags.until ?? (asksBetween ? nextStop(there) : 'tasks')
  let feature = await client.request<FeatureView>('POST', '/features', {
    ...request,
    until,
    ...(interactive && { attach: true }),
  })
  if (!context.json && !context.quiet) headLines(feature, { interactive }).forEach(context.out)
  if (flags.detach) return told(feature, context, NOT_READY)
  for (;;) {
    if (feature.session) {
      const code = await watchPhase(feature.session.id, { client, context })
      feature = await client.request<FeatureView>('GET', featurePath(feature))
      // The next phase has begun by itself, or this one is not over: it was left, it waits, it failed.
      const isOver = feature.session?.status === 'completed' || feature.session === null
      if (!isOver && feature.problem === null && code === 0) continue
      if (!isOver) return told(feature, context, code || HALTED)
    }
    if (feature.phase === 'ready' || feature.problem !== null || !asksBetween)
      return told(feature, context, feature.problem === null ? 0 : HALTED)
    const go = await askNext(feature, { context, edit: path => openInEditor(path, context) })
    if (!go) return told(feature, context, NOT_READY)
    const { env } = request
    const more = { project, env, attach: true, until: nextStop(feature) }
    feature = await client.request<FeatureView>('POST', featurePath(feature, 'go-on'), more)
  }
}

/** The end of the phase that it is at. */
function nextStop(feature: FeatureView | undefined): FeatureUntil {
  if (feature?.phase === 'plan') return 'plan'
  return feature?.phase === 'tasks' ? 'tasks' : 'spec'
}

function told(feature: FeatureView, { json, out, terminal }: Context, code: number): number {
  const lines = feature.phase === 'ready' ? readyLines(feature) : standingLines(feature, terminal)
  for (const line of json ? [JSON.stringify(feature, null, 2)] : lines) out(line)
  return code
}

/** Nobody can be interviewed where there is no terminal, unless that is over, or what it is for is written already. */
function refuseInterview(there: FeatureView | undefined, home: { project: string; name: string }): void {
  const isOver = there !== undefined && there.phase !== 'interview'
  const isWritten = DOCUMENTS.some(kind => existsSync(documentPath(home, kind)))
  if (!isOver && !isWritten) throw new AppError('interview_needs_terminal', { name: home.name })
}

async function featureIfThere(
  client: Client,
  { project, name }: { project: string; name: string },
): Promise<FeatureView | undefined> {
  try {
    const found = await client.request<FeatureView>('GET', featurePath({ project, name }))
    return found.id === null ? undefined : found
  } catch (error) {
    if (error instanceof RemoteError && error.code === 'feature_unknown') return undefined
    throw error
  }
}

interface Wanted {
  name: string
  project: string
  from: string | undefined
  flags: CreateFlags
  context: Context
}

async function requestOf({ name, project, from, flags, context }: Wanted): Promise<Omit<CreateFeature, 'until'>> {
  const caller = { places: context.places, env: context.env, project, agent: flags.agent }
  const { config, settings } = callersSettings(context.places, context.env)
  return {
    ...{ project, name, ai: flags.ai, config, env: await sessionEnvironment(caller) },
    settings: { ...settings, ...(await brainKeys(caller)) },
    ...(from !== undefined && { from }),
    ...(flags.agent !== undefined && { agent: flags.agent }),
    ...(flags.model !== undefined && { model: flags.model }),
    ...(flags.budget && { budget: flags.budget }),
  }
}
