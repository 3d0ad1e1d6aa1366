import { AppError } from '../../base/errors.ts'
import { brainKeysIn } from '../../domain/config/environment-layer.ts'
import type { CreateFeature } from '../../domain/features/feature.ts'
import { FeaturePhase } from '../../domain/features/phase.ts'
import type { FeatureRow } from '../../store/features/rows.ts'
import { documentPath, type FeatureHome, readDocument, writeDocument } from '../../tasks/features/files.ts'
import { commitTasks } from './collect.ts'
import type { FeaturesParts } from './parts.ts'
import { insertFeature, moveFeature } from './write-row.ts'

type Wanted = CreateFeature & { found: FeatureRow | undefined }

/** The row of a feature that begins, at the first phase that is not done yet: files that are there already count. */
export async function newFeature(wanted: Wanted, parts: FeaturesParts): Promise<FeatureRow> {
  const { project, name, from, ai, until, env, attach: _, found: __, ...options } = wanted
  await refuseBegun(wanted)
  if (!ai) return withoutAgent(wanted, options, parts)
  const phase = await firstPhase({ project, name }, from)
  const row = await insertFeature({ project, name, phase, source: from ?? null, options, until }, parts)
  const onDisk = await parts.keepsEnvironment({ project, ...options })
  parts.kept.keep(row.id, { ...env, ...brainKeysIn(options.settings ?? {}) }, { onDisk })
  return row
}

/** What is written down already is not written over: neither by an agent nor out of another file. */
export async function refuseBegun({ project, name, from, ai, found }: Wanted): Promise<void> {
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
export async function passWritten(row: FeatureRow, parts: FeaturesParts): Promise<FeatureRow> {
  const phase = await firstPhase(row, row.source ?? undefined)
  const isFurther = ORDER.indexOf(phase) > ORDER.indexOf(row.phase)
  if (row.session_id !== null || !isFurther) return row
  return moveFeature(row, { phase, problem: null }, parts)
}

const ORDER: readonly FeaturePhase[] = FeaturePhase.options

async function firstPhase(home: FeatureHome, from: string | undefined): Promise<FeaturePhase> {
  if (await readDocument(home, 'plan')) return 'tasks'
  if (await readDocument(home, 'spec')) return 'plan'
  return from === undefined ? 'interview' : 'spec'
}

/** The tasks are the check-list of the plan, and that is all there is to do. */
async function withoutAgent(
  { project, name, from, until, found }: Wanted,
  options: FeatureRow['options'],
  parts: FeaturesParts,
): Promise<FeatureRow> {
  if (from !== undefined) await writeDocument({ project, name }, 'plan', from)
  const row = found ?? (await insertFeature({ project, name, phase: 'tasks', source: null, options, until }, parts))
  try {
    await commitTasks(row, { ...parts, drafted: false })
  } catch (error) {
    if (!found) await parts.store.transaction(tx => parts.store.features.remove(row.id, tx))
    throw error
  }
  if (row.session_id !== null) await parts.stop(row.session_id, 'its feature has tasks now')
  return moveFeature(row, { phase: 'ready', session_id: null, draft: [], problem: null }, parts)
}
