import { AppError } from '../../base/errors.ts'
import { remove } from '../graph/remove.ts'
import type { TxParts } from '../parts.ts'
import type { FeatureHome } from './files.ts'

/** Tasks named in a refusal. */
const SHOWN = 8

/** Removes all tasks of a feature with their parts. What comes after them and is not the feature's is named: then nothing is removed. */
export async function removeTasks({ project, name }: FeatureHome, parts: TxParts): Promise<void> {
  const { store, tx } = parts
  for (const { id } of await store.tasks.list({ project, feature: name }, tx)) {
    const found = await store.tasks.get(id, tx) // gone already with one that it leaned on
    const gone = found ? await remove(found, { cascade: true }, parts) : []
    const ids = new Set(gone.map(each => each.id))
    const foreign = gone.filter(({ feature, parent_id }) => feature !== name && !ids.has(parent_id ?? ''))
    if (foreign.length === 0) continue
    const others = foreign.slice(0, SHOWN).map(each => `${each.id} (${each.title})`)
    throw new AppError('task_needed', { id, others: others.join(', '), count: foreign.length })
  }
}
