import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { text } from 'node:stream/consumers'
import { AppError, messageOf } from '../../base/errors.ts'
import type { SessionView } from '../../domain/api.ts'
import type { BudgetLimits } from '../../domain/budget.ts'
import type { StoredEvent } from '../../domain/event.ts'
import { type CreateFeature, FeatureName, type FeatureUntil, type FeatureView } from '../../domain/feature.ts'
import { DOCUMENTS, MAX_DOCUMENT } from '../../domain/feature-phase.ts'
import { documentPath } from '../../tasks/features.ts'
import { type Client, openClient } from '../connection/client.ts'
import { featurePath } from '../connection/connection.ts'
import { type CommandContext, isInteractive } from '../context.ts'
import { RemoteError } from '../errors.ts'
import { followSession } from '../live/follow.ts'
import { resumesByItself } from '../live/watch.ts'
import { isOver, shownPath } from '../render/format.ts'
import { exitCodeFor } from '../render/summary.ts'
import { brainKeys, callerSettings, sessionEnvironment } from '../session-env.ts'
import { attach } from './attach.ts'
import { featureHeadLines, openInEditor, phaseLines, readyLines } from './feature-show.ts'

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
export async function createFeature(name: string, flags: CreateFlags, context: CommandContext): Promise<number> {
  const parsed = FeatureName.safeParse(name)
  if (!parsed.success) {
    const problem = `"${name}" cannot be the name of a feature: ${parsed.error.issues[0]?.message}`
    throw new AppError('usage', { problem, command: 'feature create' })
  }
  const project = resolve(flags.project ?? '.')
  const from = flags.from === undefined ? undefined : await readSource(flags.from)
  const client = await openClient(context.paths, context)
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
  if (!context.json && !context.quiet) featureHeadLines(feature, { interactive }).forEach(context.out)
  if (flags.detach) return reportFeature(feature, context, NOT_READY)
  for (;;) {
    if (feature.session) {
      const code = await watchPhase(feature.session.id, { client, context })
      feature = await client.request<FeatureView>('GET', featurePath(feature))
      // The next phase has begun by itself, or this one is not over: it was left, it waits, it failed.
      const isOver = feature.session?.status === 'completed' || feature.session === null
      if (!isOver && feature.problem === null && code === 0) continue
      if (!isOver) return reportFeature(feature, context, code || HALTED)
    }
    if (feature.phase === 'ready' || feature.problem !== null || !asksBetween)
      return reportFeature(feature, context, feature.problem === null ? 0 : HALTED)
    const go = await askNext(feature, { context, edit: path => openInEditor(path, context) })
    if (!go) return reportFeature(feature, context, NOT_READY)
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

function reportFeature(feature: FeatureView, { json, out, terminal }: CommandContext, code: number): number {
  const lines = feature.phase === 'ready' ? readyLines(feature) : phaseLines(feature, terminal)
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
  context: CommandContext
}

async function requestOf({ name, project, from, flags, context }: Wanted): Promise<Omit<CreateFeature, 'until'>> {
  const caller = { paths: context.paths, env: context.env, project, agent: flags.agent }
  const { config, settings } = callerSettings(context.paths, context.env)
  return {
    ...{ project, name, ai: flags.ai, config, env: await sessionEnvironment(caller) },
    settings: { ...settings, ...(await brainKeys(caller)) },
    ...(from !== undefined && { from }),
    ...(flags.agent !== undefined && { agent: flags.agent }),
    ...(flags.model !== undefined && { model: flags.model }),
    ...(flags.budget && { budget: flags.budget }),
  }
}

interface Asking {
  context: CommandContext
  edit(path: string): Promise<void>
}

/** Lets a person read and edit what was written before the next phase begins. False where they leave it for later. */
async function askNext(feature: FeatureView, { context, edit }: Asking): Promise<boolean> {
  const isPlan = feature.phase === 'tasks'
  const path = isPlan ? feature.plan.path : feature.spec.path
  const shown = shownPath(path, process.cwd(), context.env['HOME'])
  context.out(`The ${isPlan ? 'plan' : 'spec'} is written: ${shown}`)
  context.out('It is yours: every line that you change in it counts from here on.')
  for (;;) {
    const answer = await oneLine(
      `[Enter] ${isPlan ? 'make the tasks' : 'plan it'}  [e] edit  [q] leave it for later  > `,
    )
    if (answer === undefined || /^q/i.test(answer)) return false
    if (answer === '') return true
    if (/^e/i.test(answer)) await edit(path)
  }
}

/** Nothing when the input ended, or at Ctrl+C. */
async function oneLine(question: string): Promise<string | undefined> {
  const lines = createInterface({ input: process.stdin, output: process.stdout })
  const gone = new Promise<undefined>(done => lines.once('close', () => done(undefined)))
  try {
    return await Promise.race([lines.question(question).then(text => text.trim()), gone])
  } finally {
    lines.close()
  }
}

/** What a person wrote down, from a file or from standard input. */
async function readSource(path: string): Promise<string> {
  const refused = (problem: string) => new AppError('feature_file', { path, problem })
  let found: string
  try {
    found = path === '-' ? await text(process.stdin) : decoded(readFileSync(path))
  } catch (error) {
    throw refused(messageOf(error))
  }
  if (found.trim() === '') throw refused('it is empty')
  if (found.length > MAX_DOCUMENT) throw refused(`it is longer than ${MAX_DOCUMENT.toLocaleString('en')} characters`)
  return found
}

function decoded(bytes: Buffer): string {
  const found = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  if (found.includes('\0')) throw new Error('it is not text')
  return found
}

/** Stays until the session of a phase stands still: shown and answered here, or in silence where JSON is wanted. */
async function watchPhase(
  session: string,
  { client, context }: { client: Client; context: CommandContext },
): Promise<number> {
  if (!context.json) return attach(session, context)
  const path = `/sessions/${session}`
  // It may have ended before and gone on, or do so at its time: only an end that is still to come counts, and that stays.
  const { events } = await client.request<{ events: StoredEvent[] }>('GET', `${path}/events?tail=1`)
  const now = await client.request<SessionView>('GET', path)
  if (!isOver(now) || now.resumes_at !== null) {
    const over = new AbortController()
    const after = events.at(-1)?.id ?? 0
    for await (const event of followSession(client, { session, after, attach: false, signal: over.signal })) {
      if (event.kind === 'session.ended' && !resumesByItself(event)) break
    }
    over.abort()
  }
  return exitCodeFor(await client.request<SessionView>('GET', path))
}
