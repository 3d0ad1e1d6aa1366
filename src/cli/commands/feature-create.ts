import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { text } from 'node:stream/consumers'
import { AppError, messageOf } from '../../base/errors.ts'
import type { SessionView } from '../../domain/api.ts'
import type { BudgetLimits } from '../../domain/budget.ts'
import type { StoredEvent } from '../../domain/event.ts'
import { type CreateFeature, FeatureName, type FeatureView } from '../../domain/feature.ts'
import { DOCUMENTS, documentsBefore, type FeatureUntil, MAX_DOCUMENT, nextStop } from '../../domain/feature-phase.ts'
import { documentPath } from '../../tasks/features.ts'
import { type Client, openClient } from '../connection/client.ts'
import { featurePath } from '../connection/connection.ts'
import { type CommandContext, isInteractive } from '../context.ts'
import { RemoteError } from '../errors.ts'
import { openInEditor } from '../input.ts'
import { followSession } from '../live/follow.ts'
import { resumesByItself } from '../live/watch.ts'
import { hasEnded, shownPath } from '../render/format.ts'
import { exitCodeFor } from '../render/summary.ts'
import { brainKeys, callerSettings, sessionEnvironment } from '../session-env.ts'
import { attach } from './attach.ts'
import { askedAgainLines, beginText, featureHeadLines, phaseLines, readyLines } from './feature-show.ts'

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

const EXIT_HALTED = 1
const EXIT_NOT_READY = 0

/** The body of `pcc feature create`: runs the phases from the current one to the one after which to stop. Returns the exit code. */
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
  const existing = await findFeature(client, { project, name })
  if (!interactive && flags.ai && from === undefined) refuseInterview(existing, { project, name })
  const asksBetweenPhases = interactive && !flags.yes && flags.until === undefined
  const request = await buildRequest({ name, project, from, flags, context })
  const { preflight } = await import('./preflight.ts')
  const work = { project, env: request.env, agent: flags.agent, verify: false, merges: false }
  await preflight({ ...work, client, context, offers: interactive })
  const until = flags.until ?? (asksBetweenPhases ? nextStop(existing?.phase ?? 'interview') : 'tasks')
  let feature = await client.request<FeatureView>('POST', '/features', {
    ...request,
    until,
    ...(interactive && { attach: true }),
  })
  if (!context.json && !context.quiet) featureHeadLines(feature, { interactive, existing }).forEach(context.out)
  if (flags.detach) return reportFeature(feature, context, EXIT_NOT_READY)
  for (;;) {
    if (feature.session) {
      const code = await watchPhase(feature.session.id, { client, context })
      const before = feature
      feature = await client.request<FeatureView>('GET', featurePath(feature))
      if (!context.json && !context.quiet) askedAgainLines(feature, before).forEach(context.out)
      // Otherwise the next phase has begun by itself, or this one is not over: the person left, or it waits or failed.
      const isPhaseOver = feature.session?.status === 'completed' || feature.session === null
      if (!isPhaseOver && feature.problem === null && code === 0) continue
      if (!isPhaseOver) return reportFeature(feature, context, code || EXIT_HALTED)
    }
    if (feature.phase === 'ready' || feature.problem !== null || !asksBetweenPhases)
      return reportFeature(feature, context, feature.problem === null ? 0 : EXIT_HALTED)
    const goesOn = await askToGoOn(feature, { context, edit: path => openInEditor(path, context.env) })
    if (!goesOn) return reportFeature(feature, context, EXIT_NOT_READY)
    const { env } = request
    const body = { project, env, attach: true, until: nextStop(feature.phase) }
    feature = await client.request<FeatureView>('POST', featurePath(feature, 'go-on'), body)
  }
}

function reportFeature(feature: FeatureView, { json, out, terminal }: CommandContext, code: number): number {
  const lines = feature.phase === 'ready' ? readyLines(feature) : phaseLines(feature, terminal)
  for (const line of json ? [JSON.stringify(feature, null, 2)] : lines) out(line)
  return code
}

/** Throws if the feature still needs its interview, which needs a terminal. It does not if it is past that phase or has a document. */
function refuseInterview(existing: FeatureView | undefined, key: { project: string; name: string }): void {
  const isInterviewed = existing !== undefined && existing.phase !== 'interview'
  const isWritten = DOCUMENTS.some(kind => existsSync(documentPath(key, kind)))
  if (!isInterviewed && !isWritten) throw new AppError('interview_needs_terminal', { name: key.name })
}

async function findFeature(
  client: Client,
  { project, name }: { project: string; name: string },
): Promise<FeatureView | undefined> {
  try {
    const feature = await client.request<FeatureView>('GET', featurePath({ project, name }))
    return feature.id === null ? undefined : feature
  } catch (error) {
    if (error instanceof RemoteError && error.code === 'feature_unknown') return undefined
    throw error
  }
}

interface RequestOptions {
  name: string
  project: string
  from: string | undefined
  flags: CreateFlags
  context: CommandContext
}

async function buildRequest({
  name,
  project,
  from,
  flags,
  context,
}: RequestOptions): Promise<Omit<CreateFeature, 'until'>> {
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

interface AskOptions {
  context: CommandContext
  edit(path: string): Promise<void>
}

/** Lets the person read and edit the document before the next phase begins. Returns `false` if they leave it for later. */
async function askToGoOn(feature: FeatureView, { context, edit }: AskOptions): Promise<boolean> {
  const kind = documentsBefore(feature.phase).at(-1)
  if (kind === undefined) return true // nothing is written that could be read
  const { path } = feature[kind]
  const shown = shownPath(path, process.cwd(), context.env['HOME'])
  context.out(`The ${kind} is written: ${shown}`)
  context.out('It is yours: every change that you make in it counts from here on.')
  for (;;) {
    const answer = await readLine(`[Enter] ${beginText(feature)}  [e] edit  [q] leave it for later  > `)
    if (answer === undefined || /^q/i.test(answer)) return false
    if (answer === '') return true
    if (/^e/i.test(answer)) await edit(path)
  }
}

/** Returns `undefined` at the end of the input or at Ctrl+C. */
async function readLine(question: string): Promise<string | undefined> {
  const lines = createInterface({ input: process.stdin, output: process.stdout })
  const closed = new Promise<undefined>(done => lines.once('close', () => done(undefined)))
  try {
    return await Promise.race([lines.question(question).then(text => text.trim()), closed])
  } finally {
    lines.close()
  }
}

/** Reads the source text from a file or from standard input. */
async function readSource(path: string): Promise<string> {
  const refused = (problem: string) => new AppError('feature_file', { path, problem })
  let source: string
  try {
    source = path === '-' ? await text(process.stdin) : decodeText(readFileSync(path))
  } catch (error) {
    throw refused(messageOf(error))
  }
  if (source.trim() === '') throw refused('it is empty')
  if (source.length > MAX_DOCUMENT) throw refused(`it is longer than ${MAX_DOCUMENT.toLocaleString('en')} characters`)
  return source
}

function decodeText(bytes: Buffer): string {
  const decoded = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  if (decoded.includes('\0')) throw new Error('it is not text')
  return decoded
}

/** Waits until the session of a phase stops. It is shown and answered here, or followed silently for `--json`. */
async function watchPhase(
  session: string,
  { client, context }: { client: Client; context: CommandContext },
): Promise<number> {
  if (!context.json) return attach(session, context, { events: true })
  const path = `/sessions/${session}`
  // The session may have ended and been resumed, or may resume by itself: only a future end that lasts counts.
  const { events } = await client.request<{ events: StoredEvent[] }>('GET', `${path}/events?tail=1`)
  const now = await client.request<SessionView>('GET', path)
  if (!hasEnded(now) || now.resumes_at !== null) {
    const done = new AbortController()
    const after = events.at(-1)?.id ?? 0
    for await (const event of followSession(client, { session, after, attach: false, signal: done.signal })) {
      if (event.kind === 'session.ended' && !resumesByItself(event)) break
    }
    done.abort()
  }
  return exitCodeFor(await client.request<SessionView>('GET', path))
}
