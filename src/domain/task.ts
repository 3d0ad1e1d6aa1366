import * as z from 'zod'
import type { StoredJson } from '../base/json.ts'

/**
 * The states of a task: `blocked → ready → running → (waiting) → verifying → merging → done`, or `failed`, `cancelled`.
 * `blocked` waits for other tasks, `ready` for a session to take it, `waiting` for a time or a person in the middle of the work.
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

/** The moves of normal work. A claim that is given back becomes `ready` again, and so does a failed task that is retried. */
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

/** The moves that a person may force in any state: done, failed, or to be done again. */
export const FORCED_MOVES: Moves = {
  blocked: ['done', 'failed'],
  ready: ['done', 'failed'],
  running: ['done', 'failed', 'ready', 'blocked'],
  waiting: ['done', 'failed', 'ready', 'blocked'],
  verifying: ['done', 'failed', 'ready', 'blocked'],
  merging: ['done', 'failed', 'ready', 'blocked'],
  // `waiting`: the work goes back to its conversation because of what happened to its pull request.
  done: ['failed', 'ready', 'blocked', 'waiting'],
  failed: ['done', 'ready', 'blocked'],
  cancelled: ['done', 'failed', 'ready', 'blocked'],
}

/**
 * A task with parts is never worked on itself: it is `blocked` while they are open, `failed` if one of them failed, and
 * `done` with the last one. If all its parts are removed, it is an ordinary task again.
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

/** Whether the gates confirmed that a task is done. `unverified`: nothing was checked. Absent if a person marked it done, or if it is not done. */
export const Verification = z.enum(['unverified', 'passed', 'failed'])
export type Verification = z.infer<typeof Verification>

/** How far a task is: nobody has begun it, somebody has and will continue it, or nothing more happens to it by itself. */
const PROGRESS = {
  ...({ blocked: 'open', ready: 'open' } as const),
  ...({ running: 'begun', waiting: 'begun', verifying: 'begun', merging: 'begun' } as const),
  ...({ done: 'over', failed: 'over', cancelled: 'over' } as const),
} satisfies Record<TaskState, 'open' | 'begun' | 'over'>

export type OverState = { [State in TaskState]: (typeof PROGRESS)[State] extends 'over' ? State : never }[TaskState]

export function isOver(state: TaskState): state is OverState {
  return PROGRESS[state] === 'over'
}

export function isBegun({ state }: { state: TaskState }): boolean {
  return PROGRESS[state] === 'begun'
}

/** States of tasks that somebody has begun, waiting ones included. */
export const BEGUN_STATES: readonly TaskState[] = TaskState.options.filter(state => isBegun({ state }))

/** States in which a session holds the task and takes no other one. */
export const AT_WORK: readonly TaskState[] = BEGUN_STATES.filter(state => state !== 'waiting')

export const OVER_STATES: readonly OverState[] = TaskState.options.filter(isOver)

/** States of tasks that are not over. */
export const OPEN_STATES: readonly TaskState[] = TaskState.options.filter(state => !isOver(state))

/** The row of a task. */
export interface Task {
  id: string
  session_id: string | null
  project: string
  title: string
  /** The full text for the agent. */
  description: string
  state: TaskState
  /** Why it is in that state, if there is something to say. */
  reason: string | null
  /** Higher is sooner. */
  priority: number
  /** How many of its dependencies are not done, plus one while its parent task is blocked. */
  open_blockers: number
  /** The number of the attempt; the holder of an older attempt may neither move nor finish the task. */
  attempt: number
  /** How often it is tried after the first time; null means as `execution.max_retries` says. */
  max_retries: number | null
  created_at: number
  started_at: number | null
  ended_at: number | null
  /** When a waiting task resumes by itself. */
  wakes_at: number | null
  /** The agent's last message about it. */
  result: string | null
  /** The order of submission; among equal priorities the lower position is sooner. */
  position: number
  /** The task of which it is a part. */
  parent_id: string | null
  /** The number of its parts, in all and by state; parts in none of the last three were cancelled. */
  children: number
  children_open: number
  children_failed: number
  children_done: number
  /** The name of its feature. */
  feature: string | null
  /** A word for the kind of work. */
  type: string
  /** How often it was retried after a failure. */
  retries: number
  /** The acceptance criteria, one per line. */
  acceptance: string
  verification: Verification | null
  /** Who holds it, and for which run; nobody else may finish it. */
  lease_owner: string | null
  run_id: string | null
  /** Its spending limits. */
  budget: StoredJson | null
  /** The preferred model. */
  model: string | null
  /** Words with a space before and after each. */
  labels: string
  /** The paths and patterns that it will touch, if declared: relative to the project, one per line. */
  paths: string
  /** Its id in the file from which it was imported, by which people may name it. */
  alias: string | null
}

/** The number that its next attempt has. A task that was taken from its attempt has that number already, and has not started. */
export function nextAttemptOf({ attempt, started_at }: Pick<Task, 'attempt' | 'started_at'>): number {
  return attempt > 0 && started_at === null ? attempt : attempt + 1
}

/** What a run works through: a project, a feature of it, or one task with its parts. `test/store/tasks.test.ts` asks for every field. */
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
  /** The ids of the tasks that it comes after. */
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
  /** The paths that it will touch, if declared. */
  paths: z.array(z.string()),
  /** Its id in the file from which it was imported. */
  alias: z.string().nullable(),
  verification: Verification.nullable(),
  retries: z.number(),
  /** Null means as `execution.max_retries` says. */
  max_retries: z.number().nullable(),
  /** How many of its dependencies are not done, plus one while its parent task is blocked. */
  open_blockers: z.number(),
  /** The number of its parts: in all, open, failed and done. */
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
  /** The caller's environment, filtered by the allow-list; needed if the agent has to be started again. */
  env: z.record(z.string(), z.string()).optional(),
})
export type AddTask = z.infer<typeof AddTask>

/** One of the tasks with which a session starts. */
export const FirstTask = z.strictObject({
  text: AddTask.shape.task,
  priority: z.number().int().min(-1_000_000).max(1_000_000),
  /** A name by which other tasks of the list can depend on it. */
  id: z.string().min(1).max(200).optional(),
  /** The names of earlier tasks in the list. */
  after: z.array(z.string().min(1).max(200)).max(1_000),
})
export type FirstTask = z.infer<typeof FirstTask>

/** When an added task will run. */
export const TaskWill = z.enum([
  'now', // nothing comes before it, and the session starts it
  'next', // when the current task is over
  'in_line', // other tasks of the queue come first
  'after', // when the tasks it comes after are done
  'on_reset', // when the vendor's limit resets
  'on_answer', // when the session's question is answered
  'on_resume', // when a person resumes the session
])
export type TaskWill = z.infer<typeof TaskWill>

/** The reply of POST /sessions/:ref/tasks */
export const AddedTask = z.object({
  task: TaskView,
  will: TaskWill,
  /** How many tasks of the queue run before it. */
  ahead: z.number(),
  resumes_at: z.number().nullable(),
  /** Why the session could not start it at once; it is queued nevertheless. */
  problem: z.object({ code: z.string(), message: z.string(), next: z.string() }).optional(),
})
export type AddedTask = z.infer<typeof AddedTask>

/** One JSON document with one task per line, so that people can search it and programs can print it unchanged. */
export function taskListDocument(tasks: Uint8Array): Buffer {
  const lineBreak = tasks.length === 0 ? '' : '\n'
  return Buffer.concat([Buffer.from(`{"tasks":[${lineBreak}`), tasks, Buffer.from(`${lineBreak}]}`)])
}
