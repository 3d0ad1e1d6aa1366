import * as z from 'zod'

/**
 * The way of a task: `blocked → ready → running → (waiting) → verifying → merging → done`, or `failed`, `cancelled`.
 * `blocked` waits for other tasks, `ready` for somebody to take it, `waiting` for a time or a person in the middle of the work.
 */
export const TaskState = z.enum([
  'blocked',
  'ready',
  'running',
  'waiting',
  'verifying',
  'merging',
  'done',
  'failed',
  'cancelled',
])
export type TaskState = z.infer<typeof TaskState>

type Moves = Record<TaskState, readonly TaskState[]>

/** Every move of the work itself. A claim that is given back becomes `ready` again; a failed task becomes so when it is retried. */
export const TASK_MOVES: Moves = {
  blocked: ['ready', 'cancelled'],
  ready: ['running', 'blocked', 'cancelled'],
  running: ['waiting', 'verifying', 'done', 'failed', 'ready', 'cancelled'],
  waiting: ['running', 'ready', 'failed', 'cancelled'],
  verifying: ['merging', 'done', 'running', 'waiting', 'failed', 'ready', 'cancelled'],
  merging: ['done', 'verifying', 'running', 'waiting', 'failed', 'ready', 'cancelled'],
  done: [],
  failed: ['ready', 'cancelled'],
  cancelled: [],
}

/** What a person may say of a task whatever it is: that it is done, that it failed, that it is to be done anew. */
export const FORCED_MOVES: Moves = {
  blocked: ['done', 'failed'],
  ready: ['done', 'failed'],
  running: ['done', 'failed', 'ready', 'blocked'],
  waiting: ['done', 'failed', 'ready', 'blocked'],
  verifying: ['done', 'failed', 'ready', 'blocked'],
  merging: ['done', 'failed', 'ready', 'blocked'],
  done: ['failed', 'ready', 'blocked'],
  failed: ['done', 'ready', 'blocked'],
  cancelled: ['done', 'failed', 'ready', 'blocked'],
}

/**
 * A task with parts is never worked on itself: it is `blocked` while they are open, `failed` with one of them, `done` with the
 * last. One whose parts are all taken away is a task like any other again.
 */
export const PARENT_MOVES: Moves = {
  blocked: ['ready', 'done', 'failed', 'cancelled'],
  ready: ['blocked', 'done', 'failed', 'cancelled'],
  running: [],
  waiting: [],
  verifying: [],
  merging: [],
  done: ['blocked', 'ready', 'failed', 'cancelled'],
  failed: ['blocked', 'ready', 'done', 'cancelled'],
  cancelled: ['blocked', 'ready', 'done', 'failed'],
}

/** Whether the gates agreed that it is done. `unverified`: nobody has looked. Nothing where a person said so, or it is not done. */
export const Verification = z.enum(['unverified', 'passed', 'failed'])
export type Verification = z.infer<typeof Verification>

/** Somebody holds it: its session takes no other one meanwhile. */
export const AT_WORK = ['running', 'verifying', 'merging'] as const satisfies readonly TaskState[]

/** What is still to be done, however far it is. */
export const OPEN_STATES = ['blocked', 'ready', 'waiting', ...AT_WORK] as const satisfies readonly TaskState[]

/** Tries after the first of a task of which nothing else was said. */
export const DEFAULT_RETRIES = 3

/** A task as its row holds it. */
export interface Task {
  id: string
  session_id: string | null
  project: string
  title: string
  /** The whole text: what the agent is given. */
  description: string
  state: TaskState
  /** Why it is in that state, where there is something to say. */
  reason: string | null
  /** Higher is sooner. */
  priority: number
  /** How many of the tasks it comes after are not done; one more while the task that it is a part of is held up. */
  open_blockers: number
  /** Number of the try; who holds an older one may neither move nor finish it. */
  attempt: number
  max_retries: number
  created_at: number
  started_at: number | null
  ended_at: number | null
  /** When a waiting task goes on by itself. */
  wakes_at: number | null
  /** The agent's last words about it. */
  result: string | null
  /** Order of submission: among equal priorities the lower is sooner. */
  position: number
  /** The task that it is a part of. */
  parent_id: string | null
  /** Its parts by how they stand; those that are in none of the last three were cancelled. */
  children: number
  children_open: number
  children_failed: number
  children_done: number
  /** Name of the feature that it belongs to. */
  feature: string | null
  /** A word for the kind of work. */
  type: string
  /** How often it was tried again after a failure. */
  retries: number
  /** What must hold when it is done, one a line. */
  acceptance: string
  verification: Verification | null
  /** Who holds it, and for which run: nobody else may finish it. */
  lease_owner: string | null
  run_id: string | null
  /** JSON: the most that may be spent on it. */
  budget: string | null
  /** The model that suits it. */
  model: string | null
  /** Words, a space before and behind each. */
  labels: string
  /** What it will touch, as far as somebody has said so: paths and patterns from the project, one a line. */
  paths: string
}

/** What a run drains: a project, a feature of it, or one task with its parts. */
export interface TaskScope {
  project: string
  feature?: string | undefined
  task?: string | undefined
}

/** A task as the API shows it. */
export const TaskView = z.object({
  id: z.string(),
  session_id: z.string().nullable(),
  title: z.string(),
  description: z.string(),
  state: TaskState,
  reason: z.string().nullable(),
  priority: z.number(),
  /** Ids of the tasks that it comes after. */
  after: z.array(z.string()),
  attempt: z.number(),
  created_at: z.number(),
  started_at: z.number().nullable(),
  ended_at: z.number().nullable(),
  wakes_at: z.number().nullable(),
  result: z.string().nullable(),
  project: z.string(),
  parent_id: z.string().nullable(),
  feature: z.string().nullable(),
  type: z.string(),
  labels: z.array(z.string()),
  acceptance: z.array(z.string()),
  /** What it will touch, as far as somebody has said so. */
  paths: z.array(z.string()),
  verification: Verification.nullable(),
  retries: z.number(),
  max_retries: z.number(),
  /** Blockers that are not done; one more while the task that it is a part of is held up. */
  open_blockers: z.number(),
  /** Its parts: how many, how many of them are open, failed, done. */
  children: z.number(),
  children_open: z.number(),
  children_failed: z.number(),
  children_done: z.number(),
  run_id: z.string().nullable(),
  model: z.string().nullable(),
  budget: z.record(z.string(), z.number()).nullable(),
})
export type TaskView = z.infer<typeof TaskView>

/** POST /sessions/:ref/tasks */
export const AddTask = z.strictObject({
  task: z.string().trim().min(1).max(1_000_000),
  priority: z.number().int().min(-1_000_000).max(1_000_000).optional(),
  /** Ids, or unique beginnings of ids or titles, of tasks of the same session. */
  after: z.array(z.string().min(1)).max(100).optional(),
  /** The caller's environment, cut down to the allow-list: needed where the agent has to be started again. */
  env: z.record(z.string(), z.string()).optional(),
})
export type AddTask = z.infer<typeof AddTask>

/** One of the tasks that a session begins with. */
export const FirstTask = z.strictObject({
  text: AddTask.shape.task,
  priority: z.number().int().min(-1_000_000).max(1_000_000),
  /** A name by which others of the list say that they come after it. */
  id: z.string().min(1).max(200).optional(),
  /** Names of tasks further up in the list. */
  after: z.array(z.string().min(1).max(200)).max(1_000),
})
export type FirstTask = z.infer<typeof FirstTask>

/** When a task that was added will run. */
export const TaskWill = z.enum([
  'now', // nothing stands before it: the session takes it up
  'next', // when the task at work is over
  'in_line', // others of the queue come first
  'after', // when the tasks it comes after are done
  'on_reset', // when the vendor's limit resets
  'on_answer', // when the session's question is answered
  'on_resume', // when a person resumes the session
])
export type TaskWill = z.infer<typeof TaskWill>

/** Answer of POST /sessions/:ref/tasks */
export const AddedTask = z.object({
  task: TaskView,
  will: TaskWill,
  /** Tasks of the queue that run before it. */
  ahead: z.number(),
  resumes_at: z.number().nullable(),
  /** Why the session could not go on with it at once; it is queued all the same. */
  problem: z.object({ code: z.string(), message: z.string(), next: z.string() }).optional(),
})
export type AddedTask = z.infer<typeof AddedTask>

/** Tasks, each as JSON text, as JSON with a line for each: a person can search through it, and a program prints it as it came. */
export function taskListText(tasks: readonly string[]): string {
  return `{"tasks":[${tasks.length === 0 ? '' : `\n${tasks.join(',\n')}\n`}]}`
}
