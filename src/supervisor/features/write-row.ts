import { AppError } from '../../base/errors.ts'
import { shortId } from '../../base/ids.ts'
import { settingsToKeep } from '../../domain/config/environment-layer.ts'
import type { NewEvent } from '../../domain/event.ts'
import type { FeatureRow } from '../../store/features/rows.ts'
import type { FeaturesParts } from './parts.ts'

type Wanted = Pick<FeatureRow, 'project' | 'name' | 'phase' | 'source' | 'options' | 'until'>

/** A new feature: its row and the event. */
export async function insertFeature(
  { options, ...wanted }: Wanted,
  { store, clock }: Pick<FeaturesParts, 'store' | 'clock'>,
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
  { store, clock }: Pick<FeaturesParts, 'store' | 'clock'>,
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
