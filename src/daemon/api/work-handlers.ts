import type { WORK_ROUTES } from '../../domain/api-v1/work-routes.ts'
import type { DaemonContext } from '../context.ts'
import { answerSession } from '../routes/escalations.ts'
import { featureView, findFeature, listFeatures, readFeature } from '../routes/features.ts'
import { runDetail, runView } from '../routes/run-view.ts'
import { runActions } from '../routes/runs.ts'
import { sessionActions } from '../routes/session-control.ts'
import { addTitles, listSessionViews, parseKinds, readSession, viewSession } from '../routes/sessions.ts'
import { addToQueue } from '../routes/task-graph.ts'
import { realOrGiven } from '../routes/tasks.ts'
import { badCursor, type Handlers, makeCursor, pageOfList, projectIn, readCursor } from './call.ts'
import type { ReachableThings } from './reach.ts'

/**
 * Answers the routes of runs, sessions and features. Agents get the environment of the person who switched the API on: a program far
 * away has none that would help them here, and what it could say there would change how they are held.
 */
export function workHandlers(daemon: DaemonContext, reach: ReachableThings): Handlers<keyof typeof WORK_ROUTES> {
  const { store, supervisor } = daemon
  const { features } = supervisor
  const runs = runActions(daemon)
  const sessions = sessionActions(daemon)
  return {
    startRun: async ({ body }) => runs.start({ ...body, project: projectIn(body), env: supervisor.apiEnv }),
    planRun: async ({ body }) => supervisor.runs.plan({ ...body, project: projectIn(body), env: supervisor.apiEnv }),
    async listRuns({ query: { project, open, ...paging } }) {
      const inProject = project === undefined ? {} : { project: await realOrGiven(project) }
      const rows = await store.runs.list({ ...inProject, open: open === 'true' })
      const { items, next } = pageOfList(rows, paging, ({ id }) => id)
      return { items: await Promise.all(items.map(row => runView(row, daemon))), next }
    },
    readRun: async ({ params, caller }) => runDetail(await reach.run(params.run, caller), daemon),
    pauseRun: async ({ params, caller }) => runs.pause(await reach.run(params.run, caller)),
    resumeRun: async ({ params, caller }) => runs.resume(await reach.run(params.run, caller)),
    stopRun: async ({ params, body, caller }) => runs.stop(await reach.run(params.run, caller), body.now === true),

    async startSession({ body }) {
      return viewSession(await supervisor.start({ ...body, project: projectIn(body), env: supervisor.apiEnv }), daemon)
    },
    async listSessions({ query: { project, status, ...paging } }) {
      const views = await listSessionViews(
        { project: project === undefined ? undefined : await realOrGiven(project) },
        daemon,
      )
      const wanted = status === undefined ? views : views.filter(view => view.status === status)
      const { items, next } = pageOfList(wanted, paging, ({ id }) => id)
      return { items: await addTitles(items, daemon), next }
    },
    readSession: async ({ params, caller }) => readSession(await reach.session(params.session, caller), daemon),
    async readSessionLog({ params, query: { cursor, limit, kind }, caller }) {
      const { id } = await reach.session(params.session, caller)
      const after = cursor === undefined ? undefined : Number(readCursor(cursor))
      if (Number.isNaN(after)) throw badCursor()
      const kinds = kind === undefined ? undefined : parseKinds(kind)
      const events = await store.events({ subject: id, after, kinds, limit: limit + 1 })
      const items = events.slice(0, limit)
      const last = events.length > limit ? items.at(-1) : undefined
      return { items, next: last ? makeCursor(String(last.id)) : null }
    },
    steerSession: async ({ params, body, caller }) =>
      sessions.prompt(await reach.session(params.session, caller), body.text),
    async addToSession({ params, body, caller }) {
      return addToQueue(await reach.session(params.session, caller), body, daemon)
    },
    async answerAsk({ params, body, caller, refuseUnknownApproval }) {
      const row = await reach.session(params.session, caller)
      const answer = { ...body, by: caller.name, env: supervisor.envOf(row.id) }
      return answerSession(row, { answer, approve: refuseUnknownApproval }, daemon)
    },
    pauseSession: async ({ params, caller }) => sessions.pause(await reach.session(params.session, caller)),
    resumeSession: async ({ params, body, caller }) =>
      sessions.resume(await reach.session(params.session, caller), body),
    interruptSession: async ({ params, caller }) => sessions.interrupt(await reach.session(params.session, caller)),
    stopSession: async ({ params, caller }) => sessions.stop(await reach.session(params.session, caller)),

    async createFeature({ body }) {
      return featureView(await features.create({ ...body, project: projectIn(body), env: supervisor.apiEnv }), daemon)
    },
    async listFeatures({ query: { project, ...paging } }) {
      const found = await listFeatures(projectIn({ project }), daemon)
      return pageOfList(found, paging, ({ name }) => name)
    },
    readFeature: async ({ params, query }) => readFeature(params.feature, projectIn(query), daemon),
    async continueFeature({ params, body }) {
      const { project: _, ...more } = body
      const row = await findFeature(params.feature, projectIn(body), daemon)
      return featureView(await features.goOn(row, { ...more, env: supervisor.apiEnv }), daemon)
    },
    async deleteFeature({ params, query }) {
      const row = await findFeature(params.feature, projectIn(query), daemon)
      await features.remove(row, { files: query.files !== undefined, tasks: query.tasks !== undefined })
      return { deleted: row.name }
    },
  }
}
