import { realpath } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { FastifyInstance } from 'fastify'
import * as z from 'zod'
import { AppError } from '../../base/errors.ts'
import { ProposeTasks } from '../../domain/feature.ts'
import { OPEN_STATES, type Task, TaskState, type TaskView, taskListDocument } from '../../domain/task.ts'
import { SubmitTask, TaskQuery, UpdateTask } from '../../domain/task-requests.ts'
import type { Tx } from '../../store/store.ts'
import type { TaskFilter } from '../../store/task-stores.ts'
import { beginBrief } from '../../supervisor/brief/brief-for.ts'
import type { Tasks } from '../../tasks/tasks.ts'
import { mentionTask, readTaskJson } from '../../tasks/view.ts'
import { type DaemonContext, getTasks } from '../context.ts'
import { parseRequest } from './errors.ts'

const Ref = z.object({ ref: z.string().min(1) })
const Delete = z.strictObject({ cascade: z.enum(['true']).optional() })

/** Looks at a task, as the JSON that is sent of it, before it is changed; a throw leaves it as it is. */
export type CheckTask = (id: string, before: string) => void

/** What people and programs do with tasks, over the socket and the API alike. */
export function taskActions(daemon: Pick<DaemonContext, 'store' | 'supervisor'>) {
  const tasks = getTasks(daemon)
  const { store } = daemon
  const find = async (ref: string, check: CheckTask | undefined, tx: Tx): Promise<Task> => {
    const task = await tasks.find(ref, tx)
    if (check) check(task.id, await readTaskJson(task.id, store, tx))
    return task
  }
  return {
    /** Adds a task to a project, which is named by its real path. Returns it as JSON. `only`: as in `findTask`. */
    submit: ({ description, ...rest }: SubmitTask & { only?: boolean }): Promise<string> =>
      store.share(async tx => {
        const text = description ?? ''
        const { id } = await tasks.submit({ ...rest, session_id: null, text, actor: 'human' }, tx)
        return readTaskJson(id, store, tx)
      }),
    async update(ref: string, changes: UpdateTask & { only?: boolean }, check?: CheckTask): Promise<TaskView> {
      const changed = await store.transaction(async tx => {
        const task = await find(ref, check, tx)
        return tasks.view(await tasks.update(task, changes, tx), tx)
      })
      if (changes.budget !== undefined) daemon.supervisor.budgetChanged(changed.id)
      return changed
    },
    remove: (ref: string, { cascade, check }: { cascade: boolean; check?: CheckTask | undefined }) =>
      store.transaction(async tx => {
        const gone = await tasks.remove(await find(ref, check, tx), { cascade }, tx)
        return { deleted: gone.map(mentionTask) }
      }),
  }
}

/** A project's tasks: add, list, read, change and delete them. */
export function taskRoutes(app: FastifyInstance, daemon: DaemonContext): void {
  const tasks = getTasks(daemon)
  const actions = taskActions(daemon)
  const lists = openRecentList(daemon, tasks)

  app.post('/tasks', async (request, reply) => {
    if (isBlank(request.body)) throw new AppError('task_empty', {})
    const given = parseRequest(SubmitTask, request.body, 'POST /tasks')
    const task = await actions.submit({ ...given, project: await realOrGiven(given.project) })
    return reply.code(201).type('application/json').send(`{"task":${task}}`)
  })

  app.get('/tasks', async (request, reply) => {
    const query = parseRequest(TaskQuery, request.query, 'GET /tasks')
    return reply.type('application/json').send(await lists.read(await toTaskFilter(query, daemon)))
  })

  app.get('/tasks/:ref', async request => tasks.detail(await tasks.find(readRef(request.params))))

  app.post('/tasks/:ref', async request => {
    const changes = parseRequest(UpdateTask, request.body ?? {}, 'POST /tasks/:ref')
    return { task: await actions.update(readRef(request.params), changes) }
  })

  app.delete('/tasks/:ref', async request => {
    const { cascade } = parseRequest(Delete, request.query, 'DELETE /tasks/:ref')
    return actions.remove(readRef(request.params), { cascade: cascade === 'true' })
  })
}

/** A longer list is not kept. */
const LONGEST_KEPT = 8_000_000

/** The last list that was asked for, kept until anything is written: whoever watches asks for the same one again and again. */
function openRecentList({ store }: DaemonContext, tasks: Pick<Tasks, 'listAsJson'>) {
  let kept: { edition: number; filter: string; document: Buffer } | undefined
  return {
    async read(filter: TaskFilter): Promise<Buffer> {
      const [edition, asked] = [store.edition(), JSON.stringify(filter)]
      if (kept?.edition === edition && kept.filter === asked) return kept.document
      // Bytes from the database to the socket: a string would be decoded, measured and encoded again.
      const document = taskListDocument(await tasks.listAsJson(filter))
      const isKept = edition === store.edition() && document.length <= LONGEST_KEPT
      kept = isKept ? { edition, filter: asked, document } : undefined
      return document
    },
  }
}

/** The `:ref` of a task route. */
export function readRef(params: unknown): string {
  return parseRequest(Ref, params, 'a task route').ref
}

/** Projects are stored by their real path; a directory that is gone is looked up by the path as given. */
export function realOrGiven(path: string): Promise<string> {
  return realpath(path).catch(() => resolve(path))
}

/** The rows that a query means. */
export async function toTaskFilter(
  { state, ready, project, under, ...rest }: TaskQuery,
  daemon: DaemonContext,
): Promise<TaskFilter> {
  const states = ready ? (['ready'] as const) : state === undefined ? undefined : parseStates(state)
  return {
    ...rest,
    states,
    project: project === undefined ? undefined : await realOrGiven(project),
    under: under === undefined ? undefined : (await getTasks(daemon).find(under)).id,
  }
}

function parseStates(text: string): TaskState[] {
  return text
    .split(',')
    .map(word => word.trim())
    .flatMap(word => (word === 'open' ? OPEN_STATES : [parseRequest(TaskState, word, 'GET /tasks?state=')]))
}

/** A blank title gets an error of its own: it is what an unset shell variable leads to. */
function isBlank(body: unknown): boolean {
  if (typeof body !== 'object' || body === null || !('title' in body)) return false
  return typeof body.title === 'string' && body.title.trim() === ''
}

/** The prompt that an agent would get for a task. Reads only. */
export function briefRoutes(app: FastifyInstance, daemon: DaemonContext): void {
  const { store } = daemon
  app.get('/tasks/:ref/brief', async request => {
    const task = await getTasks(daemon).find(readRef(request.params))
    const attempts = await store.runs.attempts({ task: task.id })
    const [run] = await store.runs.list({ project: task.project, open: true })
    const { paths, agentEnv: env, policy, code, memory } = daemon
    const complete = beginBrief(task, { paths, env, policy, code, memory, store, caller: {} })
    const placeOrReason = await daemon.supervisor.placeOf(task)
    const place = 'why' in placeOrReason ? undefined : placeOrReason
    return { task: task.id, ...(await complete({ attempts, run: run?.id, place })) }
  })
}

/** Tasks that an agent proposes for what a person wants. It takes minutes, and is aborted when the client disconnects. */
export function proposalRoutes(app: FastifyInstance, { supervisor }: DaemonContext): void {
  app.post('/tasks/propose', async (request, reply) => {
    const wanted = parseRequest(ProposeTasks, request.body, 'POST /tasks/propose')
    const disconnected = new AbortController()
    const onClose = () => disconnected.abort()
    reply.raw.once('close', onClose)
    try {
      return await supervisor.proposals.tasks(wanted, disconnected.signal)
    } finally {
      reply.raw.removeListener('close', onClose)
    }
  })
}
