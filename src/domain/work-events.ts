import * as z from 'zod'
import { RunOutcome } from './attempt.ts'
import { GateStatus } from './evidence.ts'
import { TaskState, Verification } from './task.ts'

const OfTask = z.object({ task_id: z.string(), title: z.string(), attempt: z.number() })

const TaskNamed = z.object({ task_id: z.string(), title: z.string() })

/** A task entered the state that the event kind names. The subject is its session, if it has one. */
const TaskMoved = z.object({
  task_id: z.string(),
  title: z.string(),
  from: TaskState,
  attempt: z.number(),
  reason: z.string().optional(),
})

/** Bodies of the events about tasks, their worktrees and merges, and about runs and schedules. `task.*` events are about the task's session, or about the task if it has none; `worktree.*` and `merge.*` events are about the task. */
export const WORK_EVENTS = {
  'task.submitted': z.object({
    task_id: z.string(),
    title: z.string(),
    priority: z.number(),
    after: z.array(z.string()),
    state: TaskState,
  }),
  'task.blocked': TaskMoved,
  'task.readied': TaskMoved,
  'task.started': TaskMoved,
  'task.waiting': TaskMoved.extend({ wakes_at: z.number().optional() }),
  'task.verifying': TaskMoved,
  'task.merging': TaskMoved,
  'task.finished': TaskMoved.extend({ result: z.string().optional(), verification: Verification.optional() }),
  'task.failed': TaskMoved.extend({ result: z.string().optional() }),
  'task.cancelled': TaskMoved,
  /** A person changed these fields of a task. */
  'task.updated': TaskNamed.extend({ fields: z.array(z.string()) }),
  'task.deleted': TaskNamed,
  /** A task got, or lost, a dependency on another one. */
  'task.linked': TaskNamed.extend({ blocker_id: z.string() }),
  'task.unlinked': TaskNamed.extend({ blocker_id: z.string() }),
  /** The agent reported with a tool that its task is done or failed. `done` is a request to verify. The last claim of an attempt counts. */
  'task.claimed': TaskNamed.extend({ attempt: z.number(), claim: z.enum(['done', 'failed']), text: z.string() }),
  /** A line in the log of a task. */
  'task.noted': TaskNamed.extend({ text: z.string() }),
  /** An attempt got a worktree of its own, or an archived one was restored. The subject is the task. */
  'worktree.made': z.object({
    task: z.string(),
    attempt: z.number(),
    branch: z.string(),
    target: z.string(),
    base: z.string(),
    directory: z.string(),
    /** The ref from which it was restored. */
    restored: z.string().optional(),
  }),
  /** The task has its worktree no more; the directory of a slot stays for the next one. What it had and the target has not is in the ref `archive`. */
  'worktree.removed': z.object({
    task: z.string(),
    attempt: z.number(),
    branch: z.string(),
    archive: z.string().optional(),
    reason: z.string().optional(),
  }),
  'run.started': z.object({ project: z.string(), target: z.string() }),
  /** What keeps tasks of the run from beginning until a person mends it has changed; the list is empty when nothing does any more. */
  'run.held_up': z.object({ by: z.array(z.object({ code: z.string(), why: z.string(), next: z.string() })) }),
  'run.ended': z.object({
    outcome: RunOutcome,
    reason: z.string(),
    /** The states of its tasks at the end, and how many of the done ones were unverified. */
    tasks: z.partialRecord(TaskState, z.number()).optional(),
    unverified: z.number().optional(),
    /** Of the tasks done in worktrees: how many reached their target, and how many did not. */
    merged: z.number().optional(),
    unmerged: z.number().optional(),
  }),
  /** A run was scheduled. The subject is the schedule. */
  'schedule.set': z.object({ project: z.string(), target: z.string(), when: z.string(), due_at: z.number() }),
  'schedule.fired': z.object({ run_id: z.string(), due_at: z.number(), next_at: z.number().nullable() }),
  /** The scheduled time came, but no run could start. */
  'schedule.skipped': z.object({ reason: z.string(), due_at: z.number(), next_at: z.number().nullable() }),
  'schedule.cancelled': z.object({ reason: z.string() }),
  /** The work on a task was verified. */
  'task.verified': OfTask.extend({
    round: z.number(),
    status: z.enum(['passed', 'failed', 'broken']),
    checks: z.array(
      z.object({
        ...{ gate: z.string(), status: GateStatus, cached: z.boolean(), duration_ms: z.number() },
        /** It fails for nothing but what failed before the work. */
        failed_before: z.boolean().optional(),
      }),
    ),
    /** The first problem that prevents the task from being done. */
    problem: z.string().optional(),
    commit: z.string().optional(),
  }),
  /** The task went back to the conversation that did the work. */
  'task.returned': OfTask.extend({ cause: z.enum(['gates', 'conflict', 'review']), reason: z.string() }),
  /** A task's work is in its target branch. */
  'merge.landed': z.object({ task: z.string(), target: z.string(), commit: z.string() }),
  /** The work cannot be merged now. A person has to do something; then the merge continues by itself. */
  'merge.held_up': z.object({ task: z.string(), target: z.string(), reason: z.string() }),
} as const satisfies Record<string, z.ZodType>
