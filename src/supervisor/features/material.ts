import type { FeatureRow } from '../../store/features/rows.ts'
import type { Store } from '../../store/store.ts'
import { readDocument } from '../../tasks/features/files.ts'
import type { PhaseMaterial, Said } from './prompts.ts'

/** All that the agent of a phase is told, as it is now: files may have been edited since they were written. */
export async function materialOf(row: FeatureRow, store: Pick<Store, 'sessions' | 'events'>): Promise<PhaseMaterial> {
  const { name, source, draft } = row
  const asks = row.phase === 'interview' || row.phase === 'spec'
  return {
    name,
    source,
    said: asks ? await saidIn(row, store) : [],
    spec: await readDocument(row, 'spec'),
    plan: await readDocument(row, 'plan'),
    drafted: row.phase === 'tasks' ? draft : [],
  }
}

/** What was answered in every conversation about the feature so far, each question once. */
async function saidIn(row: FeatureRow, store: Pick<Store, 'sessions' | 'events'>): Promise<Said[]> {
  const all = await store.sessions.list({ project: row.project })
  const ours = all.filter(({ options }) => options.feature?.id === row.id).toReversed()
  const said = new Map<string, string>()
  for (const { id } of ours) {
    for (const event of await store.events({ subject: id, kinds: ['question.answered'] })) {
      if (event.kind !== 'question.answered') continue
      for (const [question, answer] of Object.entries(event.body.answers))
        said.set(question, [answer].flat().join(', '))
    }
  }
  return [...said].map(([question, answer]) => ({ question, answer }))
}
