import { existsSync } from 'node:fs'
import type { FastifyInstance } from 'fastify'
import * as z from 'zod'
import { AppError } from '../../base/errors.ts'
import type { TaskGates } from '../../domain/evidence.ts'
import {
  type Merge,
  type MergeState,
  type MergeView,
  OPEN_MERGES,
  type TaskDiff,
  type TaskWork,
} from '../../domain/merge.ts'
import type { Task } from '../../domain/task.ts'
import { PRESENT_WORKTREES, type WorktreeRow, type WorktreeView } from '../../domain/worktree.ts'
import { readTaskDiff } from '../../workspace/changes.ts'
import { type DaemonContext, getTasks, readWorktreeDeps } from '../context.ts'
import { parseRequest } from './errors.ts'
import { readRef, realOrGiven } from './tasks.ts'

const TaskParams = z.object({ task: z.string().min(1) })
const ListQuery = z.strictObject({ project: z.string().min(1).optional(), all: z.literal('true').optional() })
const PruneBody = z.strictObject({ project: z.string().min(1).optional() })

/** The worktrees, with the settings as they are now; the code is imported on use. */
export async function openDaemonWorktrees({ store, paths, log, agentEnv: env }: DaemonContext) {
  const { openWorktrees } = await import('../../workspace/worktrees/worktrees.ts')
  return openWorktrees(await readWorktreeDeps({ paths, env, store, log }))
}

/** Worktrees: list, archive, remove and restore them. */
export function worktreeRoutes(app: FastifyInstance, daemon: DaemonContext): void {
  const open = () => openDaemonWorktrees(daemon)
  const readTask = (params: unknown, route: string) => parseRequest(TaskParams, params, route).task

  app.get('/worktrees', async (request): Promise<{ worktrees: WorktreeView[] }> => {
    const { project, all } = parseRequest(ListQuery, request.query, 'GET /worktrees')
    const filter = project === undefined ? {} : { project: await realOrGiven(project) }
    return { worktrees: await worktreeViews(await (await open()).list({ ...filter, all: all !== undefined }), daemon) }
  })

  app.get('/worktrees/:task', async request => {
    const worktrees = await open()
    const rows = await worktrees.show(readTask(request.params, 'GET /worktrees/:task'))
    return { worktrees: await worktreeViews(rows, daemon), forecast: await worktrees.forecast(rows) }
  })

  app.post('/worktrees/prune', async request => {
    const { project } = parseRequest(PruneBody, request.body ?? {}, 'POST /worktrees/prune')
    const filter = project === undefined ? {} : { project: await realOrGiven(project) }
    return { pruned: await (await open()).prune(filter) }
  })

  app.post('/worktrees/:task/remove', async request =>
    (await open()).remove(readTask(request.params, 'POST /worktrees/:task/remove')),
  )

  app.post('/worktrees/:task/archive', async request =>
    (await open()).archive(readTask(request.params, 'POST /worktrees/:task/archive')),
  )

  app.post('/worktrees/:task/restore', async request =>
    (await open()).restore(readTask(request.params, 'POST /worktrees/:task/restore')),
  )
}

/** Whether the directory of a row is still its own: a slot is used again by other tasks. */
function isPresent({ state }: WorktreeRow): boolean {
  return PRESENT_WORKTREES.some(present => present === state)
}

/** Worktrees as people see them. */
export function worktreeViews(rows: WorktreeRow[], { store }: DaemonContext): Promise<WorktreeView[]> {
  return Promise.all(
    rows.map(async row => {
      const task = await store.tasks.get(row.task)
      return {
        ...row,
        task_state: task?.state ?? null,
        title: task?.title ?? null,
        exists: isPresent(row) && existsSync(row.top),
      }
    }),
  )
}

const DiffQuery = z.strictObject({ stat: z.enum(['true']).optional() })

/** The work on a task: its diff, the evidence of its gates, and how far it has come. Reads only. */
export function workRoutes(app: FastifyInstance, daemon: DaemonContext): void {
  app.get('/tasks/:ref/diff', async request => {
    const { stat } = parseRequest(DiffQuery, request.query, 'GET /tasks/:ref/diff')
    return readDiff(await getTasks(daemon).find(readRef(request.params)), stat === 'true', daemon)
  })

  app.get('/tasks/:ref/work', async request => readWork(await getTasks(daemon).find(readRef(request.params)), daemon))
}

/** What the last attempt at a task changed. */
export async function readDiff(task: Task, stat: boolean, { store }: DaemonContext): Promise<TaskDiff> {
  const [worktree] = await store.worktrees.list({ task: task.id })
  const merged = (await store.merges.list({ task: task.id, states: ['merged', 'proposed'] })).at(-1)
  const diff = await readTaskDiff({ task, worktree, merged }, { stat })
  if (!diff) throw new AppError('diff_none', { task: task.id, why: worktree ? 'what it left is gone' : NO_WORKTREE })
  return diff
}

const NO_WORKTREE = 'it had no worktree of its own'

/** How far the work on a task has come. */
export async function readWork(
  { id, title, state, attempt, session_id }: Task,
  { store }: DaemonContext,
): Promise<TaskWork> {
  const evidence = (await store.evidence.latest(id)).map(({ task_id: _, ...row }) => row)
  const [worktree = null] = await store.worktrees.list({ task: id })
  const last = (await store.merges.list({ task: id, limit: 1 })).at(-1)
  // The merge of an earlier attempt says nothing about the work of this one.
  const merge = last?.attempt === attempt ? last : null
  const open = session_id === null ? [] : await store.escalations.list({ session: session_id, states: ['open'] })
  const review = open.find(({ kind, input }) => kind === 'review' && input['task'] === id)
  return { task: id, title, state, attempt, evidence, merge, worktree, review: review?.number ?? null }
}

const Ref = z.object({ ref: z.string().min(1) })

/** The evidence of a task's gates, and the directory in which it works. */
export function gateRoutes(app: FastifyInstance, daemon: DaemonContext): void {
  app.get('/tasks/:ref/gates', async (request): Promise<TaskGates> => {
    const { ref } = parseRequest(Ref, request.params, 'GET /tasks/:ref/gates')
    const { id, title, project } = await getTasks(daemon).find(ref)
    const worktrees = await daemon.store.worktrees.list({ task: id, states: ['live'] })
    const directory = worktrees.at(-1)?.directory ?? project
    return { id, title, project, directory, evidence: await daemon.store.evidence.latest(id) }
  })
}

/** How many merges a list of all shows: the newest ones. */
const LATEST = 100

/** Merges of finished work into its target: list them, retry one, call one off. */
export function mergeRoutes(app: FastifyInstance, daemon: DaemonContext): void {
  const actions = mergeActions(daemon)

  app.get('/merges', async (request): Promise<{ merges: MergeView[] }> => {
    const { project, all } = parseRequest(ListQuery, request.query, 'GET /merges')
    return { merges: await listMerges({ project, all: all !== undefined }, daemon) }
  })

  app.post('/merges/:ref/retry', async request => {
    const merge = await findMerge(parseRequest(Ref, request.params, 'POST /merges/:ref/retry').ref, daemon)
    return { merge: await actions.retry(merge) }
  })

  app.post('/merges/:ref/abort', async request => {
    const merge = await findMerge(parseRequest(Ref, request.params, 'POST /merges/:ref/abort').ref, daemon)
    return { merge: await actions.abort(merge) }
  })
}

/** Open merges, or the newest of all. */
export async function listMerges(
  { project, all }: { project?: string | undefined; all: boolean },
  daemon: DaemonContext,
): Promise<MergeView[]> {
  const filter = project === undefined ? {} : { project: await realOrGiven(project) }
  const rows = await daemon.store.merges.list({ ...filter, ...(all ? { limit: LATEST } : { states: OPEN_MERGES }) })
  return mergeViews(rows, daemon)
}

/** What people and programs order of merges, over the socket and the API alike. */
export function mergeActions(daemon: DaemonContext) {
  const { store, supervisor } = daemon
  return {
    async retry(merge: Merge): Promise<MergeView> {
      const task = await store.tasks.get(merge.task_id)
      if (WAITING.has(merge.state)) {
        const queued = { state: 'queued', updated_at: Date.now() } as const
        // A remote that could not be reached is otherwise asked again after some minutes.
        if (merge.as_pull_request) await store.transaction(tx => store.merges.move(merge, queued, tx))
        supervisor.completion.look(merge.task_id)
      } else if (GIVEN_UP.has(merge.state) && (task?.state === 'merging' || task?.state === 'verifying')) {
        await supervisor.completion.again(merge.task_id)
      } else throw await refusal(merge, daemon)
      return showMerge(merge, daemon)
    },
    async abort(merge: Merge): Promise<MergeView> {
      if (!CAN_BE_CALLED_OFF.has(merge.state)) throw await refusal(merge, daemon)
      const patch = { state: 'aborted', reason: 'called off by a person', updated_at: Date.now() } as const
      if (!(await store.transaction(tx => store.merges.move(merge, patch, tx)))) {
        throw new AppError('merge_moved', { id: merge.id })
      }
      supervisor.completion.look(merge.task_id)
      return showMerge({ ...merge, ...patch }, daemon)
    },
  }
}

const WAITING: ReadonlySet<MergeState> = new Set(['queued', 'waiting'])
/** A conflict may be retried if it was given to a person. While its conversation resolves it, the task is at work and refused. */
const GIVEN_UP: ReadonlySet<MergeState> = new Set(['failed', 'aborted', 'conflicted'])
/** A merge that is landing may be reaching its target right now, and a conflict is with the task's conversation. */
const CAN_BE_CALLED_OFF: ReadonlySet<MergeState> = new Set(['queued', 'waiting', 'review', 'rebasing', 'verifying'])

/** Work that was given up is where it was: what its task came to says whether pcc or git brings it in. */
async function refusal({ id, task_id: task, attempt, branch, state, target }: Merge, { store }: DaemonContext) {
  const isOver = GIVEN_UP.has(state) && (await store.tasks.get(task))?.state === 'done'
  const isLive = isOver && (await store.worktrees.get({ task, attempt }))?.state === 'live'
  const next = !isOver
    ? 'See its state with: pcc merge list --all'
    : isLive
      ? `Take its work into ${target}, in the project, with: git merge ${branch}`
      : `Its work is kept; make its branch again with: pcc worktree restore ${task}`
  return new AppError('merge_not_so', { id, task, state, next })
}

/** Finds a merge by its number, or the newest merge of a task by the task's id or the beginning of it. */
export async function findMerge(ref: string, { store }: DaemonContext): Promise<Merge> {
  const byNumber = /^\d+$/.test(ref) ? await store.merges.get(Number(ref)) : undefined
  if (byNumber) return byNumber
  const named = (await store.tasks.named(ref)).at(-1)
  const wanted = named?.id ?? (ref.startsWith('t-') ? ref : `t-${ref}`)
  const merges = (await store.merges.list()).filter(({ task_id }) => task_id.startsWith(wanted))
  const tasks = new Set(merges.map(({ task_id }) => task_id))
  const newest = merges.at(-1)
  if (!newest) throw new AppError('merge_unknown', { ref })
  const some = [...tasks].slice(0, 3).join(', ')
  if (tasks.size > 1) throw new AppError('merge_ambiguous', { ref, found: tasks.size, tasks: some })
  return newest
}

export async function showMerge(merge: Merge, daemon: DaemonContext): Promise<MergeView> {
  const [view] = await mergeViews([merge], daemon)
  return view ?? { ...merge, title: null, task_state: null, ahead: 0 }
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
