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

/** Every move there is. A claim that is given back becomes `ready` again; a failed task becomes so when it is retried. */
export const TASK_MOVES: Record<TaskState, readonly TaskState[]> = {
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

/** Somebody holds it: its session takes no other one meanwhile. */
export const AT_WORK = ['running', 'verifying', 'merging'] as const satisfies readonly TaskState[]

/** What is still to be done, however far it is. */
export const OPEN_STATES = ['blocked', 'ready', 'waiting', ...AT_WORK] as const satisfies readonly TaskState[]

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
  /** How many of the tasks it comes after are not done. */
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
