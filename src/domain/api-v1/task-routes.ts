import * as z from 'zod'
import { TaskDiff, TaskWork } from '../merge.ts'
import { GuidedTask, GuideTask } from '../run.ts'
import { TaskView } from '../task.ts'
import {
  ImportReply,
  ImportTasks,
  MAX_IMPORTED,
  NoteOnTask,
  SayOfTask,
  SubmitTask,
  TaskDetail,
  TaskMention,
  TaskQuery,
  UpdateTask,
} from '../task-requests.ts'
import { type ApiRoute, LONG_TEXT_BYTES, Paging, Project, pageOf, Ref } from './route.ts'

const TaskParams = z.object({ task: Ref })
const about = { noun: 'Tasks', reach: 'found', params: TaskParams } as const
const change = { ...about, scope: 'work', guardedBy: 'readTask' } as const

/** An event as the API shows it. The fields of `body` depend on the kind. */
export const EventView = z.object({
  id: z.number().int(),
  time: z.number(),
  actor: z.string(),
  schema_version: z.number(),
  subject: z.string(),
  /** A newer daemon may have more kinds. */
  kind: z.string(),
  body: z.record(z.string(), z.unknown()),
})

/** Twenty thousand tasks with some lines of text each. */
const MAX_IMPORT_BYTES = 16_000_000

export const TASK_ROUTES = {
  createTask: {
    method: 'POST',
    path: '/tasks',
    noun: 'Tasks',
    scope: 'work',
    summary: 'Add a task. Answers 429 while the project has `tasks.queue_size` open tasks.',
    reach: 'body',
    body: SubmitTask.extend({ project: Project.optional() }),
    reply: TaskView,
    status: 201,
    creates: true,
    versioned: true,
    maxBytes: LONG_TEXT_BYTES,
  },
  listTasks: {
    method: 'GET',
    path: '/tasks',
    noun: 'Tasks',
    scope: 'read',
    summary: 'List tasks in the order in which they were added. `state` takes several with commas between, and `open`.',
    reach: 'query',
    query: TaskQuery.omit({ limit: true }).extend(Paging),
    reply: pageOf(TaskView),
  },
  readTask: {
    ...about,
    method: 'GET',
    path: '/tasks/{task}',
    scope: 'read',
    summary: 'Read a task.',
    reply: TaskView,
    versioned: true,
  },
  readTaskNeighbours: {
    ...about,
    method: 'GET',
    path: '/tasks/{task}/neighbours',
    scope: 'read',
    summary: 'Read a task with its parent, its parts, what it comes after and what comes after it.',
    reply: TaskDetail,
  },
  updateTask: {
    ...change,
    method: 'PATCH',
    path: '/tasks/{task}',
    summary: 'Change fields of a task; null removes a value.',
    body: UpdateTask,
    reply: TaskView,
    versioned: true,
    maxBytes: LONG_TEXT_BYTES,
  },
  moveTask: {
    ...change,
    method: 'POST',
    path: '/tasks/{task}/move',
    summary: 'Order the state of a task. `done` needs the scope `decide`: it overrides the gates.',
    body: SayOfTask.extend({ to: z.enum(['done', 'failed', 'ready', 'cancelled']) }),
    reply: TaskView,
    versioned: true,
  },
  cancelTask: {
    ...change,
    method: 'POST',
    path: '/tasks/{task}/cancel',
    summary: 'Cancel a task and all its parts; an agent that works on it is interrupted.',
    body: SayOfTask.default({}),
    reply: TaskView,
    versioned: true,
  },
  deleteTask: {
    ...change,
    method: 'DELETE',
    path: '/tasks/{task}',
    summary: 'Delete a task; with `cascade=true` also everything that depends on it.',
    query: z.strictObject({ cascade: z.enum(['true']).optional() }),
    reply: z.object({ deleted: z.array(TaskMention) }),
  },
  addDependency: {
    ...change,
    method: 'POST',
    path: '/tasks/{task}/dependencies',
    summary: 'Let a task come after another one.',
    body: z.strictObject({ after: Ref }),
    reply: TaskView,
    versioned: true,
  },
  removeDependency: {
    ...change,
    method: 'DELETE',
    path: '/tasks/{task}/dependencies/{blocker}',
    summary: 'Undo a dependency.',
    params: TaskParams.extend({ blocker: Ref }),
    reply: TaskView,
    versioned: true,
  },
  importTasks: {
    method: 'POST',
    path: '/tasks/import',
    noun: 'Tasks',
    scope: 'work',
    summary: `Add up to ${MAX_IMPORTED.toLocaleString('en')} tasks with their dependencies, all or none. The size of the queue does not limit it.`,
    reach: 'body',
    body: ImportTasks.extend({ project: Project.optional() }),
    reply: ImportReply,
    creates: true,
    maxBytes: MAX_IMPORT_BYTES,
  },
  readTaskLog: {
    ...about,
    method: 'GET',
    path: '/tasks/{task}/events',
    scope: 'read',
    summary: 'Read the events of a task, oldest first.',
    query: z.strictObject(Paging),
    reply: pageOf(EventView),
  },
  noteOnTask: {
    ...about,
    method: 'POST',
    path: '/tasks/{task}/notes',
    scope: 'work',
    summary: 'Add a line to the log of a task.',
    body: NoteOnTask,
    reply: z.object({ task: z.string() }),
    creates: true,
    status: 201,
  },
  guideTask: {
    ...change,
    method: 'POST',
    path: '/tasks/{task}/guidance',
    summary: 'Add guidance to a task; an agent that works on it gets it at once.',
    body: GuideTask,
    reply: GuidedTask,
  },
  readTaskDiff: {
    ...about,
    method: 'GET',
    path: '/tasks/{task}/diff',
    scope: 'read',
    summary: 'Read what the last attempt at a task changed; with `stat=true` only the numbers.',
    query: z.strictObject({ stat: z.enum(['true']).optional() }),
    reply: TaskDiff,
  },
  readTaskWork: {
    ...about,
    method: 'GET',
    path: '/tasks/{task}/work',
    scope: 'read',
    summary: 'Read how far the work on a task has come: the evidence of its gates, its worktree and its merge.',
    reply: TaskWork,
  },
} as const satisfies Record<string, ApiRoute>
