import { existsSync } from 'node:fs'
import type { FastifyInstance } from 'fastify'
import * as z from 'zod'
import { AppError } from '../../base/errors.ts'
import type { TaskGates } from '../../domain/evidence.ts'
import { type Merge, type MergeState, type MergeView, OPEN_MERGES, type TaskWork } from '../../domain/merge.ts'
import type { Task } from '../../domain/task.ts'
import type { WorktreeRow, WorktreeView } from '../../domain/worktree.ts'
import { readTaskDiff } from '../../workspace/changes.ts'
import { type DaemonContext, getTasks, readWorktreeDeps } from '../context.ts'
import { parseRequest } from './errors.ts'
import { readRef, realOrGiven } from './tasks.ts'

const TaskParams = z.object({ task: z.string().min(1) })
const ListQuery = z.strictObject({ project: z.string().min(1).optional(), all: z.literal('true').optional() })
const PruneBody = z.strictObject({ project: z.string().min(1).optional() })

/** Worktrees: look at them, put them away, bring them back. */
export function worktreeRoutes(app: FastifyInstance, daemon: DaemonContext): void {
  const { store, paths, log, agentEnv: env } = daemon
  const opened = async () => {
    const { openWorktrees } = await import('../../workspace/worktrees/worktrees.ts')
    return openWorktrees(await readWorktreeDeps({ paths, env, store, log }))
  }
  const taskOf = (params: unknown, route: string) => parseRequest(TaskParams, params, route).task

  app.get('/worktrees', async (request): Promise<{ worktrees: WorktreeView[] }> => {
    const { project, all } = parseRequest(ListQuery, request.query, 'GET /worktrees')
    const of = project === undefined ? {} : { project: await realOrGiven(project) }
    return { worktrees: await worktreeViews(await (await opened()).list({ ...of, all: all !== undefined }), daemon) }
  })

  app.get('/worktrees/:task', async request => {
    const worktrees = await opened()
    const rows = await worktrees.show(taskOf(request.params, 'GET /worktrees/:task'))
    return { worktrees: await worktreeViews(rows, daemon), forecast: await worktrees.forecast(rows) }
  })

  app.post('/worktrees/prune', async request => {
    const { project } = parseRequest(PruneBody, request.body ?? {}, 'POST /worktrees/prune')
    const of = project === undefined ? {} : { project: await realOrGiven(project) }
    return { pruned: await (await opened()).prune(of) }
  })

  app.post('/worktrees/:task/remove', async request =>
    (await opened()).remove(taskOf(request.params, 'POST /worktrees/:task/remove')),
  )

  app.post('/worktrees/:task/archive', async request =>
    (await opened()).archive(taskOf(request.params, 'POST /worktrees/:task/archive')),
  )

  app.post('/worktrees/:task/restore', async request =>
    (await opened()).restore(taskOf(request.params, 'POST /worktrees/:task/restore')),
  )
}

function worktreeViews(rows: WorktreeRow[], { store }: DaemonContext): Promise<WorktreeView[]> {
  return Promise.all(
    rows.map(async row => {
      const task = await store.tasks.get(row.task)
      return { ...row, task_state: task?.state ?? null, title: task?.title ?? null, exists: existsSync(row.top) }
    }),
  )
}

const DiffQuery = z.strictObject({ stat: z.enum(['true']).optional() })

/** What was done for a task: what it changed, what gates saw of it, how far it is on its way. Reads only. */
export function workRoutes(app: FastifyInstance, daemon: DaemonContext): void {
  const { store } = daemon

  app.get('/tasks/:ref/diff', async request => {
    const { stat } = parseRequest(DiffQuery, request.query, 'GET /tasks/:ref/diff')
    const task = await getTasks(daemon).find(readRef(request.params))
    const [worktree] = await store.worktrees.list({ task: task.id })
    const merged = (await store.merges.list({ task: task.id, states: ['merged', 'proposed'] })).at(-1)
    const found = await readTaskDiff({ task, worktree, merged }, { stat: stat === 'true' })
    if (!found) throw new AppError('diff_none', { task: task.id, why: worktree ? 'what it left is gone' : NO_PLACE })
    return found
  })

  app.get('/tasks/:ref/work', async request => workOf(await getTasks(daemon).find(readRef(request.params)), daemon))
}

const NO_PLACE = 'it had no worktree of its own'

async function workOf({ id, title, state, attempt, session_id }: Task, { store }: DaemonContext): Promise<TaskWork> {
  const evidence = (await store.evidence.latest(id)).map(({ task_id: _, ...row }) => row)
  const [worktree = null] = await store.worktrees.list({ task: id })
  const merge = (await store.merges.list({ task: id, limit: 1 })).at(-1) ?? null
  const open = session_id === null ? [] : await store.escalations.list({ session: session_id, states: ['open'] })
  const review = open.find(({ kind, input }) => kind === 'review' && input['task'] === id)
  return { task: id, title, state, attempt, evidence, merge, worktree, review: review?.number ?? null }
}

const Ref = z.object({ ref: z.string().min(1) })

/** What gates saw of a task, and where it works. */
export function gateRoutes(app: FastifyInstance, daemon: DaemonContext): void {
  app.get('/tasks/:ref/gates', async (request): Promise<TaskGates> => {
    const { ref } = parseRequest(Ref, request.params, 'GET /tasks/:ref/gates')
    const { id, title, project } = await getTasks(daemon).find(ref)
    const paths = await daemon.store.worktrees.list({ task: id, states: ['live'] })
    const directory = paths.at(-1)?.directory ?? project
    return { id, title, project, directory, evidence: await daemon.store.evidence.latest(id) }
  })
}

/** Over ones that are shown: the newest. */
const LATEST = 100

/** Work that is on its way into its target, or was: look at it, try it again, call it off. */
export function mergeRoutes(app: FastifyInstance, daemon: DaemonContext): void {
  const { store, supervisor } = daemon

  app.get('/merges', async (request): Promise<{ merges: MergeView[] }> => {
    const { project, all } = parseRequest(ListQuery, request.query, 'GET /merges')
    const of = project === undefined ? {} : { project: await realOrGiven(project) }
    const rows = await store.merges.list({ ...of, ...(all ? { limit: LATEST } : { states: OPEN_MERGES }) })
    return { merges: await mergeViews(rows, daemon) }
  })

  app.post('/merges/:ref/retry', async (request): Promise<{ merge: MergeView }> => {
    const merge = await mergeOf(parseRequest(Ref, request.params, 'POST /merges/:ref/retry').ref, daemon)
    const task = await store.tasks.get(merge.task_id)
    if (STANDS.has(merge.state)) supervisor.landing.look(merge.task_id)
    else if (GIVEN_UP.has(merge.state) && (task?.state === 'merging' || task?.state === 'verifying')) {
      await supervisor.landing.again(merge.task_id)
    } else throw refusal(merge)
    return showMerge(merge, daemon)
  })

  app.post('/merges/:ref/abort', async (request): Promise<{ merge: MergeView }> => {
    const merge = await mergeOf(parseRequest(Ref, request.params, 'POST /merges/:ref/abort').ref, daemon)
    if (!CALLED_OFF.has(merge.state)) throw refusal(merge)
    const patch = { state: 'aborted', reason: 'called off by a person', updated_at: Date.now() } as const
    if (!(await store.transaction(tx => store.merges.move(merge, patch, tx)))) {
      throw new AppError('merge_moved', { id: merge.id })
    }
    supervisor.landing.look(merge.task_id)
    return showMerge({ ...merge, ...patch }, daemon)
  })
}

const STANDS: ReadonlySet<MergeState> = new Set(['queued', 'waiting'])
/** A conflict that was given to a person is theirs to resolve; one that is with its conversation has a task that works. */
const GIVEN_UP: ReadonlySet<MergeState> = new Set(['failed', 'aborted', 'conflicted'])
/** One that is landing may be in its target at this moment; a conflict is with the task's conversation. */
const CALLED_OFF: ReadonlySet<MergeState> = new Set(['queued', 'waiting', 'review', 'rebasing', 'verifying'])

function refusal({ id, task_id, state }: Merge): AppError {
  return new AppError('merge_not_so', { id, task: task_id, state })
}

/** The number of a merge, or a task by its id or the beginning of it: then its newest one. */
async function mergeOf(ref: string, { store }: DaemonContext): Promise<Merge> {
  const byNumber = /^\d+$/.test(ref) ? await store.merges.get(Number(ref)) : undefined
  if (byNumber) return byNumber
  const wanted = ref.startsWith('t-') ? ref : `t-${ref}`
  const found = (await store.merges.list()).filter(({ task_id }) => task_id.startsWith(wanted))
  const tasks = new Set(found.map(({ task_id }) => task_id))
  const newest = found.at(-1)
  if (!newest) throw new AppError('merge_unknown', { ref })
  const some = [...tasks].slice(0, 3).join(', ')
  if (tasks.size > 1) throw new AppError('merge_ambiguous', { ref, found: tasks.size, tasks: some })
  return newest
}

async function showMerge(merge: Merge, daemon: DaemonContext): Promise<{ merge: MergeView }> {
  const [view] = await mergeViews([merge], daemon)
  return { merge: view ?? { ...merge, title: null, task_state: null, ahead: 0 } }
}

async function mergeViews(rows: readonly Merge[], { store }: DaemonContext): Promise<MergeView[]> {
  const open = await store.merges.list({ states: OPEN_MERGES })
  return Promise.all(
    rows.map(async row => {
      const task = await store.tasks.get(row.task_id)
      const isBefore = ({ id, repository, target }: Merge) =>
        id < row.id && repository === row.repository && target === row.target
      const isOpen = OPEN_MERGES.some(state => state === row.state)
      const ahead = isOpen ? open.filter(isBefore).length : 0
      return { ...row, title: task?.title ?? null, task_state: task?.state ?? null, ahead }
    }),
  )
}
