import type { Clock } from '../../base/clock.ts'
import { AppError } from '../../base/errors.ts'
import { shortId } from '../../base/ids.ts'
import type { Log } from '../../base/log.ts'
import type { StartSession } from '../../domain/api.ts'
import { brainKeysIn, settingsToKeep } from '../../domain/config/layers.ts'
import type { NewEvent } from '../../domain/event.ts'
import type { CreateFeature } from '../../domain/feature.ts'
import { type DocumentKind, documentIn, FeaturePhase, MAX_DOCUMENT } from '../../domain/feature-phase.ts'
import { cleanLine } from '../../domain/task-requests.ts'
import type { Store, Tx } from '../../store/store.ts'
import type { FeatureRow, SessionRow } from '../../store/tables.ts'
import { documentPath, type FeatureLocation, readDocument, readPlanTasks, writeDocument } from '../../tasks/features.ts'
import { importTasks } from '../../tasks/files/import-tasks.ts'
import type { Tasks } from '../../tasks/tasks.ts'
import type { KeptEnvironments } from '../session/kept-environments.ts'
import type { BoundTask } from '../session/start-session.ts'

/** What features work with. */
export interface FeatureDeps {
  store: Store
  tasks: Tasks
  clock: Clock
  log: Log
  kept: KeptEnvironments
  /** Where nothing was kept. */
  agentEnv: Record<string, string>
  /** Whether what agents are started with may be kept in a file. */
  keepsEnvironment(of: Pick<StartSession, 'project' | 'config' | 'settings'>): Promise<boolean>
  start(request: StartSession, bound: BoundTask): Promise<SessionRow>
  resume(row: SessionRow, env: Record<string, string>): Promise<SessionRow>
  stop(session: string, reason: string): Promise<void>
}

type NewFeatureRequest = CreateFeature & { found: FeatureRow | undefined }

/** The row of a feature that begins, at the first phase that is not done yet: files that are there already count. */
export async function newFeature(wanted: NewFeatureRequest, deps: FeatureDeps): Promise<FeatureRow> {
  const { project, name, from, ai, until, env, attach: _, found: __, ...options } = wanted
  await refuseBegun(wanted)
  if (!ai) return withoutAgent(wanted, options, deps)
  const phase = await firstPhase({ project, name }, from)
  const row = await insertFeature({ project, name, phase, source: from ?? null, options, until }, deps)
  const onDisk = await deps.keepsEnvironment({ project, ...options })
  deps.kept.keep(row.id, { ...env, ...brainKeysIn(options.settings ?? {}) }, { onDisk })
  return row
}

/** What is written down already is not written over: neither by an agent nor out of another file. */
export async function refuseBegun({ project, name, from, ai, found }: NewFeatureRequest): Promise<void> {
  // The same file again is the same command again: it goes on where it was.
  if (from === undefined || (ai && found?.source === from)) return
  const document = ai ? 'spec' : 'plan'
  const home = { project, name }
  const isThere = (await readDocument(home, document)) !== undefined
  if (!isThere && (!found || !ai)) return
  const has = isThere ? `has a ${document} already (${documentPath(home, document)})` : 'has begun without it'
  throw new AppError('feature_begun', { name, has, flag: '--from' })
}

/** Where a feature that nobody is at stands: what a person has written themselves meanwhile need not be written by an agent. */
export async function skipWrittenPhases(row: FeatureRow, deps: FeatureDeps): Promise<FeatureRow> {
  const phase = await firstPhase(row, row.source ?? undefined)
  const isFurther = ORDER.indexOf(phase) > ORDER.indexOf(row.phase)
  if (row.session_id !== null || !isFurther) return row
  return moveFeature(row, { phase, problem: null }, deps)
}

const ORDER: readonly FeaturePhase[] = FeaturePhase.options

async function firstPhase(home: FeatureLocation, from: string | undefined): Promise<FeaturePhase> {
  if (await readDocument(home, 'plan')) return 'tasks'
  if (await readDocument(home, 'spec')) return 'plan'
  return from === undefined ? 'interview' : 'spec'
}

/** The tasks are the check-list of the plan, and that is all there is to do. */
async function withoutAgent(
  { project, name, from, until, found }: NewFeatureRequest,
  options: FeatureRow['options'],
  deps: FeatureDeps,
): Promise<FeatureRow> {
  if (from !== undefined) await writeDocument({ project, name }, 'plan', from)
  const row = found ?? (await insertFeature({ project, name, phase: 'tasks', source: null, options, until }, deps))
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

/** A new feature: its row and the event. */
async function insertFeature(
  { options, ...wanted }: NewFeatureColumns,
  { store, clock }: Pick<FeatureDeps, 'store' | 'clock'>,
): Promise<FeatureRow> {
  const now = clock.now()
  const row: FeatureRow = {
    ...{ ...wanted, id: shortId('f'), session_id: null, draft: [], problem: null, created_at: now, updated_at: now },
    // No secret is stored in a row: the brains' keys lie with the environment.
    options: { ...options, ...(options.settings && { settings: settingsToKeep(options.settings) }) },
  }
  await store.transaction(async tx => {
    const { project, name } = row
    if (await store.features.named(project, name, tx)) throw new AppError('feature_there', { name })
    await store.features.insert(row, tx)
    await tx.append([moved(row)])
  })
  return row
}

/** Where a feature stands from now on, with the event that tells of it. */
export async function moveFeature(
  row: FeatureRow,
  patch: Partial<FeatureRow>,
  { store, clock }: Pick<FeatureDeps, 'store' | 'clock'>,
): Promise<FeatureRow> {
  const now = { ...row, ...patch, updated_at: clock.now() }
  await store.transaction(async tx => {
    await store.features.update(row.id, { ...patch, updated_at: now.updated_at }, tx)
    await tx.append([moved(now)])
  })
  return now
}

function moved({ id: subject, project, name, phase, problem }: FeatureRow): NewEvent {
  const body = { project, name, phase, ...(problem !== null && { problem }) }
  return { actor: 'daemon', subject, kind: 'feature.moved', body }
}

export interface CollectDeps {
  store: Store
  clock: Clock
}

/**
 * Takes over what the session of a phase has come to, and gives the row from now on. A file is written once: where there is
 * one, it is the person's and stays. Tasks become real all together. Doing it twice, after a crash, comes to the same.
 */
export async function collectPhase(row: FeatureRow, session: string, deps: CollectDeps): Promise<Partial<FeatureRow>> {
  const free = { session_id: null, problem: null }
  switch (row.phase) {
    case 'interview':
    case 'spec': {
      const written = await documentOf(row, session, 'spec', deps)
      if (written) return { ...free, phase: 'plan' }
      // It has what it was to find out, and did not write it down: that is done from what was said.
      if (row.phase === 'interview') return { ...free, phase: 'spec' }
      return { ...free, problem: await withoutDocument(row, session, 'spec', deps) }
    }
    case 'plan': {
      const written = await documentOf(row, session, 'plan', deps)
      if (written) return { ...free, phase: 'tasks' }
      return { ...free, problem: await withoutDocument(row, session, 'plan', deps) }
    }
    case 'tasks':
      await commitTasks(row, { ...deps, drafted: true })
      return { ...free, phase: 'ready' }
    case 'ready':
      return free
  }
}

/** The tasks of a feature, out of what its agent has added, else out of the check-list of its plan. Throws `no_plan`. */
async function commitTasks(
  row: FeatureRow,
  { store, clock, drafted }: CollectDeps & { drafted: boolean },
): Promise<void> {
  const { project, name } = row
  const tasks = drafted && row.draft.length > 0 ? row.draft : await readPlanTasks(await readDocument(row, 'plan'), row)
  await store.transaction(async tx => {
    if (await isDone(row, store, tx)) return
    const named = tasks.map(task => ({ ...task, feature: name }))
    await importTasks(named, { project, copy: true }, { store, clock, tx })
    await store.features.update(row.id, { phase: 'ready', draft: [], session_id: null, problem: null }, tx)
  })
}

async function isDone({ id }: FeatureRow, store: Store, tx: Tx): Promise<boolean> {
  return (await store.features.get(id, tx))?.phase === 'ready'
}

async function documentOf(row: FeatureRow, session: string, kind: DocumentKind, deps: CollectDeps) {
  const text = documentIn(await lastWords(session, deps), kind)
  if (text === undefined) return (await readDocument(row, kind)) !== undefined
  if (text.length > MAX_DOCUMENT)
    throw new AppError('feature_file', { path: `the ${kind} of ${session}`, problem: 'it is too long' })
  const path = documentPath(row, kind)
  const isThere = (await writeDocument(row, kind, text)) || (await readDocument(row, kind)) !== undefined
  if (!isThere) throw new AppError('feature_file', { path, problem: 'it is empty; write it, or remove it' })
  return true
}

async function lastWords(session: string, { store }: CollectDeps): Promise<string> {
  const done = (await store.tasks.list({ session })).findLast(({ state }) => state === 'done')
  return done?.result ?? ''
}

/** Why a phase came to nothing: what its agent said instead, and that the person may write the file as well. */
async function withoutDocument(row: FeatureRow, session: string, kind: DocumentKind, deps: CollectDeps) {
  const said = cleanLine(await lastWords(session, deps))
    .slice(0, LONGEST)
    .toWellFormed()
  const instead = said === '' ? 'it said nothing' : `it said: ${said}`
  return `Its session ${session} ended without a ${kind}; ${instead}\nTry again, or write it yourself: ${documentPath(row, kind)}`
}

/** Of what an agent said in place of a document: enough to see what it wanted. */
const LONGEST = 300
