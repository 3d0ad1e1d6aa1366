import { existsSync } from 'node:fs'
import type { DocumentKind } from '../../../domain/features/document.ts'
import type { FeatureView } from '../../../domain/features/feature.ts'
import type { FeatureRow } from '../../../store/features/rows.ts'
import { documentPath, type FeatureHome } from '../../../tasks/features/files.ts'
import type { World } from '../../world.ts'
import { view } from '../sessions.ts'

/** A feature with its files, its session and its tasks as they are now. */
export async function featureView(row: FeatureRow, world: World): Promise<FeatureView> {
  const { store } = world
  const { id, project, name, phase, until, problem, created_at, updated_at } = row
  const session = row.session_id === null ? undefined : await store.sessions.get(row.session_id)
  const seen = session && view(session, world)
  return {
    ...{ id, project, name, phase, until, problem, created_at, updated_at },
    session: seen ? { id: seen.id, status: seen.status, reason: seen.reason } : null,
    ...documentsOf({ project, name }),
    tasks: await store.tasks.counts({ project, feature: name }),
  }
}

/** Features that only tasks speak of: somebody named one when they added them. */
export async function namedInTasks(project: string, rows: FeatureRow[], { store }: World): Promise<FeatureView[]> {
  const names = (await store.features.inTasks(project)).filter(name => !rows.some(row => row.name === name))
  return Promise.all(
    names.sort().map(async name => ({
      ...{ id: null, project, name, phase: 'ready' as const, until: 'tasks' as const, session: null, problem: null },
      ...documentsOf({ project, name }),
      tasks: await store.tasks.counts({ project, feature: name }),
      ...{ created_at: null, updated_at: null },
    })),
  )
}

function documentsOf(home: FeatureHome): Pick<FeatureView, 'spec' | 'plan'> {
  const one = (kind: DocumentKind) => {
    const path = documentPath(home, kind)
    return { path, exists: existsSync(path) }
  }
  return { spec: one('spec'), plan: one('plan') }
}
