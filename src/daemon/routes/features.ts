import { existsSync } from 'node:fs'
import type { FastifyInstance } from 'fastify'
import * as z from 'zod'
import { AppError } from '../../base/errors.ts'
import { ContinueFeatureRequest, CreateFeature, DeleteFeature, type FeatureView } from '../../domain/feature.ts'
import { DOCUMENTS, type DocumentKind } from '../../domain/feature-phase.ts'
import type { FeatureRow } from '../../store/tables.ts'
import { documentPath, type FeatureLocation } from '../../tasks/features.ts'
import type { DaemonContext } from '../context.ts'
import { parseRequest } from './errors.ts'
import { viewSession } from './sessions.ts'
import { realOrGiven } from './tasks.ts'

const Name = z.object({ name: z.string().min(1) })
const InProject = z.strictObject({ project: z.string().min(1) })

/** Features: from an idea to tasks. */
export function featureRoutes(app: FastifyInstance, daemon: DaemonContext): void {
  const { features } = daemon.supervisor
  const find = (params: unknown, project: string) =>
    findFeature(parseRequest(Name, params, 'a feature route').name, project, daemon)

  app.post('/features', async (request, reply) => {
    const row = await features.create(parseRequest(CreateFeature, request.body, 'POST /features'))
    return reply.code(201).send(await featureView(row, daemon))
  })

  app.get('/features', async request => {
    const { project } = parseRequest(InProject, request.query, 'GET /features')
    return { features: await listFeatures(project, daemon) }
  })

  app.get('/features/:name', async request => {
    const { project } = parseRequest(InProject, request.query, 'GET /features/:name')
    const { name } = parseRequest(Name, request.params, 'GET /features/:name')
    return readFeature(name, project, daemon)
  })

  app.post('/features/:name/go-on', async request => {
    const { project, ...more } = parseRequest(ContinueFeatureRequest, request.body, 'POST /features/:name/go-on')
    return featureView(await features.goOn(await find(request.params, project), more), daemon)
  })

  app.delete('/features/:name', async request => {
    const { project, files, tasks } = parseRequest(DeleteFeature, request.query, 'DELETE /features/:name')
    const row = await find(request.params, project)
    await features.remove(row, { files: files !== undefined, tasks: tasks !== undefined })
    return { deleted: row.name }
  })
}

/** The row of a feature of a project. Throws `feature_unknown`. */
export async function findFeature(name: string, project: string, { store }: DaemonContext): Promise<FeatureRow> {
  const feature = await store.features.named(await realOrGiven(project), name)
  if (!feature) throw new AppError('feature_unknown', { name, project })
  return feature
}

/** The features of a project, also those that are only named in tasks. */
export async function listFeatures(project: string, daemon: DaemonContext): Promise<FeatureView[]> {
  const directory = await realOrGiven(project)
  const rows = await daemon.store.features.list({ project: directory })
  const views = await Promise.all(rows.map(row => featureView(row, daemon)))
  return [...views, ...(await readTaskOnlyFeatures(directory, rows, daemon))]
}

/** One feature of a project, as it is now. */
export async function readFeature(name: string, project: string, daemon: DaemonContext): Promise<FeatureView> {
  const { store, supervisor } = daemon
  const directory = await realOrGiven(project)
  const row = await store.features.named(directory, name)
  if (row) {
    // The session may have produced something that is not recorded yet: a reader should see it.
    await supervisor.features.look(row.id)
    return featureView((await store.features.get(row.id)) ?? row, daemon)
  }
  const found = (await readTaskOnlyFeatures(directory, [], daemon)).find(feature => feature.name === name)
  if (!found) throw new AppError('feature_unknown', { name, project })
  return found
}

/** A feature with its files, its session and its tasks as they are now. */
export async function featureView(row: FeatureRow, daemon: DaemonContext): Promise<FeatureView> {
  const { store } = daemon
  const { id, project, name, phase, until, problem, created_at, updated_at } = row
  const session = row.session_id === null ? undefined : await store.sessions.get(row.session_id)
  const view = session && viewSession(session, daemon)
  return {
    ...{ id, project, name, phase, until, problem, created_at, updated_at },
    session: view ? { id: view.id, status: view.status, reason: view.reason } : null,
    ...documentsOf({ project, name }),
    tasks: await store.tasks.counts({ project, feature: name }),
  }
}

/** Features that have no row and exist only as a name in tasks, given when the tasks were added. */
async function readTaskOnlyFeatures(
  project: string,
  rows: FeatureRow[],
  { store }: DaemonContext,
): Promise<FeatureView[]> {
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

function documentsOf(home: FeatureLocation): Pick<FeatureView, DocumentKind> {
  const locate = (kind: DocumentKind) => {
    const path = documentPath(home, kind)
    return { path, exists: existsSync(path) }
  }
  return Object.fromEntries(DOCUMENTS.map(kind => [kind, locate(kind)])) as Pick<FeatureView, DocumentKind>
}
