import type { Clock } from '../../base/clock.ts'
import { AppError } from '../../base/errors.ts'
import { shortId } from '../../base/ids.ts'
import type { Log } from '../../base/log.ts'
import type { StartSession } from '../../domain/api.ts'
import { brainKeysIn, settingsToKeep } from '../../domain/config/layers.ts'
import type { NewEvent } from '../../domain/event.ts'
import type { CreateFeature } from '../../domain/feature.ts'
import {
  DOCUMENTS,
  type DocumentKind,
  documentIn,
  documentOf,
  type FeaturePhase,
  isLaterPhase,
  MAX_DOCUMENT,
  phaseAfter,
  phaseAfterDocument,
} from '../../domain/feature-phase.ts'
import { cleanLine } from '../../domain/task-requests.ts'
import type { Store, Tx } from '../../store/store.ts'
import type { FeatureRow, SessionRow } from '../../store/tables.ts'
import { documentPath, type FeatureLocation, readDocument, readPlanTasks, writeDocument } from '../../tasks/features.ts'
import { importTasks } from '../../tasks/files/import-tasks.ts'
import type { Tasks } from '../../tasks/tasks.ts'
import type { KeptEnvironments } from '../session/kept-environments.ts'
import type { BoundTask } from '../session/start-session.ts'

/** What features need from other parts. */
export interface FeatureDeps {
  store: Store
  tasks: Tasks
  clock: Clock
  log: Log
  kept: KeptEnvironments
  /** The agents' environment where the feature's own was not kept. */
  agentEnv: Record<string, string>
  /** Whether the agents' environment may be kept in a file. */
  keepsEnvironment(request: Pick<StartSession, 'project' | 'config' | 'settings'>): Promise<boolean>
  start(request: StartSession, bound: BoundTask): Promise<SessionRow>
  resume(row: SessionRow, env: Record<string, string>): Promise<SessionRow>
  stop(session: string, reason: string): Promise<void>
}

type NewFeatureRequest = CreateFeature & { found: FeatureRow | undefined }

/** Creates the row of a feature, at the first phase that is not done yet: documents that exist already count. */
export async function newFeature(request: NewFeatureRequest, deps: FeatureDeps): Promise<FeatureRow> {
  const { project, name, from, ai, until, env, attach: _, found: __, ...options } = request
  await refuseBegun(request)
  if (!ai) return createFromPlan(request, options, deps)
  const phase = await firstUnwrittenPhase({ project, name }, from)
  const row = await insertFeature({ project, name, phase, source: from ?? null, options, until }, deps)
  const onDisk = await deps.keepsEnvironment({ project, ...options })
  deps.kept.keep(row.id, { ...env, ...brainKeysIn(options.settings ?? {}) }, { onDisk })
  return row
}

/** Refuses to overwrite an existing document, by an agent or from another file. */
export async function refuseBegun({ project, name, from, ai, found }: NewFeatureRequest): Promise<void> {
  // The same file again means that the command is repeated: the feature goes on where it was.
  if (from === undefined || (ai && found?.source === from)) return
  const document = ai ? 'spec' : 'plan'
  const location = { project, name }
  const exists = (await readDocument(location, document)) !== undefined
  if (!exists && (!found || !ai)) return
  const has = exists ? `has a ${document} already (${documentPath(location, document)})` : 'has begun without it'
  throw new AppError('feature_begun', { name, has, flag: '--from' })
}

/** Skips the phases of a feature without a session whose documents a person has written meanwhile: no agent need write those. */
export async function skipWrittenPhases(row: FeatureRow, deps: FeatureDeps): Promise<FeatureRow> {
  const phase = await firstUnwrittenPhase(row, row.source ?? undefined)
  if (row.session_id !== null || !isLaterPhase(phase, row.phase)) return row
  return moveFeature(row, { phase, problem: null }, deps)
}

/** The phase after the last document that is there; without one, what the person wrote takes the place of the interview. */
async function firstUnwrittenPhase(location: FeatureLocation, from: string | undefined): Promise<FeaturePhase> {
  for (const kind of DOCUMENTS.toReversed()) if (await readDocument(location, kind)) return phaseAfterDocument(kind)
  return from === undefined ? 'interview' : phaseAfter('interview')
}

/** Creates a feature without an agent: its tasks are the check-list of the plan. */
async function createFromPlan(
  { project, name, from, until, found }: NewFeatureRequest,
  options: FeatureRow['options'],
  deps: FeatureDeps,
): Promise<FeatureRow> {
  if (from !== undefined) await writeDocument({ project, name }, 'plan', from)
  const row =
    found ??
    (await insertFeature({ project, name, phase: phaseAfterDocument('plan'), source: null, options, until }, deps))
  try {
    await commitTasks(row, { ...deps, drafted: false })
  } catch (error) {
    if (!found) await deps.store.transaction(tx => deps.store.features.remove(row.id, tx))
    throw error
  }
  if (row.session_id !== null) await deps.stop(row.session_id, 'its feature has tasks now')
  return moveFeature(row, { phase: 'ready', session_id: null, draft: [], problem: null }, deps)
}

type NewFeatureColumns = Pick<FeatureRow, 'project' | 'name' | 'phase' | 'source' | 'options' | 'until'>

/** Inserts a new feature with its event. */
async function insertFeature(
  { options, ...columns }: NewFeatureColumns,
  { store, clock }: Pick<FeatureDeps, 'store' | 'clock'>,
): Promise<FeatureRow> {
  const now = clock.now()
  const row: FeatureRow = {
    ...{ ...columns, id: shortId('f'), session_id: null, draft: [], problem: null, created_at: now, updated_at: now },
    // No secret is stored in a row: the brains' keys are kept with the environment.
    options: { ...options, ...(options.settings && { settings: settingsToKeep(options.settings) }) },
  }
  await store.transaction(async tx => {
    const { project, name } = row
    if (await store.features.named(project, name, tx)) throw new AppError('feature_there', { name })
    await store.features.insert(row, tx)
    await tx.append([movedEvent(row)])
  })
  return row
}

/** Updates a feature, and appends the event of it. */
export async function moveFeature(
  row: FeatureRow,
  patch: Partial<FeatureRow>,
  { store, clock }: Pick<FeatureDeps, 'store' | 'clock'>,
): Promise<FeatureRow> {
  const next = { ...row, ...patch, updated_at: clock.now() }
  await store.transaction(async tx => {
    await store.features.update(row.id, { ...patch, updated_at: next.updated_at }, tx)
    await tx.append([movedEvent(next)])
  })
  return next
}

function movedEvent({ id: subject, project, name, phase, problem }: FeatureRow): NewEvent {
  const body = { project, name, phase, ...(problem !== null && { problem }) }
  return { actor: 'daemon', subject, kind: 'feature.moved', body }
}

export interface CollectDeps {
  store: Store
  clock: Clock
}

/**
 * Takes over the result of a phase's session, and returns the patch of the feature's row. A document is written once: one that
 * exists is the person's and stays. All tasks are created together. Repeating it after a crash gives the same result.
 */
export async function collectPhase(row: FeatureRow, session: string, deps: CollectDeps): Promise<Partial<FeatureRow>> {
  const free = { session_id: null, problem: null }
  const { phase } = row
  if (phase === 'ready') return free
  const kind = documentOf(phase)
  if (kind === undefined) {
    await commitTasks(row, { ...deps, drafted: true })
    return { ...free, phase: phaseAfter(phase) }
  }
  if (await saveDocument(row, session, kind, deps)) return { ...free, phase: phaseAfterDocument(kind) }
  // The interview is over, but the agent wrote no spec: the next phase writes it from the answers.
  if (documentOf(phaseAfter(phase)) === kind) return { ...free, phase: phaseAfter(phase) }
  return { ...free, problem: await describeMissingDocument(row, session, kind, deps) }
}

/** Creates the tasks of a feature: those that its agent has added, else the check-list of its plan. Throws `no_plan`. */
async function commitTasks(
  row: FeatureRow,
  { store, clock, drafted }: CollectDeps & { drafted: boolean },
): Promise<void> {
  const { project, name } = row
  const tasks = drafted && row.draft.length > 0 ? row.draft : await readPlanTasks(await readDocument(row, 'plan'), row)
  await store.transaction(async tx => {
    if (await isReady(row, store, tx)) return
    const named = tasks.map(task => ({ ...task, feature: name }))
    await importTasks(named, { project, copy: true }, { store, clock, tx })
    await store.features.update(row.id, { phase: 'ready', draft: [], session_id: null, problem: null }, tx)
  })
}

async function isReady({ id }: FeatureRow, store: Store, tx: Tx): Promise<boolean> {
  return (await store.features.get(id, tx))?.phase === 'ready'
}

/** Writes the document that the session's result contains. True if the document exists then. */
async function saveDocument(row: FeatureRow, session: string, kind: DocumentKind, deps: CollectDeps) {
  const text = documentIn(await readLastResult(session, deps), kind)
  if (text === undefined) return (await readDocument(row, kind)) !== undefined
  if (text.length > MAX_DOCUMENT)
    throw new AppError('feature_file', { path: `the ${kind} of ${session}`, problem: 'it is too long' })
  const path = documentPath(row, kind)
  const exists = (await writeDocument(row, kind, text)) || (await readDocument(row, kind)) !== undefined
  if (!exists) throw new AppError('feature_file', { path, problem: 'it is empty; write it, or remove it' })
  return true
}

async function readLastResult(session: string, { store }: CollectDeps): Promise<string> {
  const done = (await store.tasks.list({ session })).findLast(({ state }) => state === 'done')
  return done?.result ?? ''
}

/** How often a phase is begun that ends without its document, before a person is asked. */
const MOST_TRIES = 2

/** Whether an agent is asked for a document that the one before it did not write. After a person has said to try again, it counts anew. */
export async function mayAskAgain({ id, project, phase }: FeatureRow, { store }: CollectDeps): Promise<boolean> {
  const sessions = await store.sessions.list({ project })
  const tries = sessions.filter(
    ({ options: { feature }, ended_as }) => feature?.id === id && feature.phase === phase && ended_as === 'completed',
  )
  return tries.length % MOST_TRIES !== 0
}

/** Why a phase had no result: what its agent said instead, and that the person may write the document too. */
async function describeMissingDocument(row: FeatureRow, session: string, kind: DocumentKind, deps: CollectDeps) {
  const result = cleanLine(await readLastResult(session, deps))
    .slice(0, MAX_QUOTE)
    .toWellFormed()
  const instead = result === '' ? 'it said nothing' : `it said: ${result}`
  return `Its session ${session} ended without a ${kind}: no text between <${kind}> and </${kind}>; ${instead}\nTry again, or write it yourself: ${documentPath(row, kind)}`
}

/** How much is quoted of what an agent said instead of a document. */
const MAX_QUOTE = 300
