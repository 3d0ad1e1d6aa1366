import type { Caller } from '../../domain/access.ts'
import type { TASK_ROUTES } from '../../domain/api-v1/task-routes.ts'
import type { TaskView } from '../../domain/task.ts'
import type { Store } from '../../store/store.ts'
import { readTaskJson } from '../../tasks/view.ts'
import { type DaemonContext, getTasks } from '../context.ts'
import { guideTask } from '../routes/runs.ts'
import { graphActions, readTaskEvents } from '../routes/task-graph.ts'
import { type CheckTask, realOrGiven, taskActions, toTaskFilter } from '../routes/tasks.ts'
import { readDiff, readWork } from '../routes/workspace.ts'
import { requireScope } from './authenticate.ts'
import {
  badCursor,
  type Handlers,
  JsonText,
  makeCursor,
  pageOfList,
  projectIn,
  readCursor,
  refuseChanged,
} from './call.ts'
import type { QueueLimit } from './queue-limit.ts'
import type { ReachableThings } from './reach.ts'

/** Answers the routes of tasks. */
export function taskHandlers(
  daemon: DaemonContext,
  { reach, queue }: { reach: ReachableThings; queue: QueueLimit },
): Handlers<keyof typeof TASK_ROUTES> {
  const { store } = daemon
  const tasks = getTasks(daemon)
  const actions = taskActions(daemon)
  const graph = graphActions(daemon)
  const unchanged = (ifMatch: string | undefined): CheckTask | undefined =>
    ifMatch === undefined ? undefined : (id, before) => refuseChanged(`Task ${id}`, before, ifMatch)
  const recent = openRecentTasks(store)
  const looking = new Map<string, Promise<string>>()
  /** The real path of a project. Requests at the same time share one look. */
  const projectAt = (path: string): Promise<string> => {
    const before = looking.get(path)
    const found = before ?? realOrGiven(path).finally(() => looking.delete(path))
    if (!before) looking.set(path, found)
    return found
  }
  /** A key for one project does not learn what is in others. */
  const isBound = ({ project }: Caller) => project !== null
  return {
    async createTask({ body, caller }) {
      const project = await projectAt(projectIn(body))
      return new JsonText(await queue.add(project, () => actions.submit({ ...body, project, only: isBound(caller) })))
    },
    async listTasks({ query: { cursor, limit, ...query }, caller }) {
      const filter = await toTaskFilter({ ...query, limit: limit + 1 }, daemon)
      if (query.under !== undefined) await reach.task(query.under, caller)
      const after = cursor === undefined ? undefined : readPosition(cursor)
      const found = await tasks.list({ ...filter, after })
      const items = found.slice(0, limit)
      const last = found.length > limit ? items.at(-1) : undefined
      return { items, next: last ? await cursorAfter(last) : null }
    },
    async readTask({ params, caller }) {
      // The hot way: a whole id is read as the text that is sent.
      const known = caller.project === null ? await recent.read(params.task) : undefined
      return known ?? new JsonText(await readTaskJson((await reach.task(params.task, caller)).id, store))
    },
    readTaskNeighbours: async ({ params, caller }) => tasks.detail(await reach.task(params.task, caller)),
    async updateTask({ params, body, caller, ifMatch }) {
      const { id } = await reach.task(params.task, caller)
      return actions.update(id, { ...body, only: isBound(caller) }, unchanged(ifMatch))
    },
    async moveTask({ params, body: { to, reason }, caller, ifMatch }) {
      if (to === 'done') requireScope(caller, 'decide')
      const { id } = await reach.task(params.task, caller)
      return graph.force(id, { to, reason }, unchanged(ifMatch))
    },
    async cancelTask({ params, body: { reason }, caller, ifMatch }) {
      const { id } = await reach.task(params.task, caller)
      return graph.force(id, { to: 'cancelled', reason }, unchanged(ifMatch))
    },
    async deleteTask({ params, query, caller, ifMatch }) {
      const { id } = await reach.task(params.task, caller)
      return actions.remove(id, { cascade: query.cascade === 'true', check: unchanged(ifMatch) })
    },
    async addDependency({ params, body, caller, ifMatch }) {
      const task = await reach.task(params.task, caller)
      return graph.link(task.id, (await reach.task(body.after, caller)).id, unchanged(ifMatch))
    },
    async removeDependency({ params, caller, ifMatch }) {
      const task = await reach.task(params.task, caller)
      return graph.unlink(task.id, (await reach.task(params.blocker, caller)).id, unchanged(ifMatch))
    },
    importTasks: async ({ body, caller }) => graph.import({ ...body, project: projectIn(body), only: isBound(caller) }),
    async readTaskLog({ params, query, caller }) {
      const events = await readTaskEvents(await reach.task(params.task, caller), daemon)
      return pageOfList(events, query, ({ id }) => String(id))
    },
    async noteOnTask({ params, body, caller }) {
      const task = await reach.task(params.task, caller)
      await graph.note(task, body.text)
      return { task: task.id }
    },
    async guideTask({ params, body, caller }) {
      const { id } = await reach.task(params.task, caller)
      return guideTask(id, body.text, daemon)
    },
    readTaskDiff: async ({ params, query, caller }) =>
      readDiff(await reach.task(params.task, caller), query.stat === 'true', daemon),
    readTaskWork: async ({ params, caller }) => readWork(await reach.task(params.task, caller), daemon),
  }

  async function cursorAfter({ id }: TaskView): Promise<string | null> {
    const row = await store.tasks.get(id)
    return row ? makeCursor(`p${row.position}`) : null
  }
}

/** How many replies are kept, and how long they may be. */
const [MOST_KEPT, LONGEST_KEPT] = [300, 8_000]

/** Tasks as they are sent, kept until anything is written: others ask for the same ones again and again. */
function openRecentTasks({ tasks, edition }: Pick<Store, 'tasks' | 'edition'>) {
  const kept = new Map<string, JsonText>()
  let keptIn = edition()
  return {
    /** Undefined if there is no task with this id. */
    async read(id: string): Promise<JsonText | undefined> {
      const now = edition()
      if (now !== keptIn) kept.clear()
      keptIn = now
      const before = kept.get(id)
      if (before) return before
      const text = await tasks.asJson(id)
      if (text === undefined) return undefined
      const found = new JsonText(text)
      if (now === keptIn && kept.size < MOST_KEPT && text.length <= LONGEST_KEPT) kept.set(id, found)
      return found
    },
  }
}

function readPosition(cursor: string): number {
  const position = /^p(\d{1,15})$/.exec(readCursor(cursor))?.[1]
  if (position === undefined) throw badCursor()
  return Number(position)
}
