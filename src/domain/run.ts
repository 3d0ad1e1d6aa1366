import * as z from 'zod'
import { SessionStatus, StartSession } from './api.ts'
import { AttemptOutcome, RunOutcome } from './attempt.ts'
import { Need } from './needs.ts'
import { MAX_PARALLEL_AGENTS, MODEL_STRATEGIES } from './option-values.ts'
import { QuotaLevel, QuotaSource } from './quota.ts'
import { TaskState, Verification } from './task.ts'

/** What a run works through: a whole project, a feature, or one task with its parts. */
export const RunTarget = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('project') }),
  z.strictObject({ kind: z.literal('feature'), name: z.string().min(1) }),
  z.strictObject({ kind: z.literal('task'), id: z.string().min(1) }),
])
export type RunTarget = z.infer<typeof RunTarget>

export const RunState = z.enum(['running', 'paused', 'ended'])
export type RunState = z.infer<typeof RunState>

/** The options of a run that each of its sessions gets as they are. */
export const RunSessionOptions = StartSession.pick({
  agent: true,
  auto_resume: true,
  auto_approve: true,
  brain: true,
  brain_model: true,
  confidence: true,
  config: true,
  settings: true,
})
export type RunSessionOptions = z.infer<typeof RunSessionOptions>

/** The options of a run, without the caller's environment. Those below are its own: no session gets them. */
export const RunOptions = RunSessionOptions.extend({
  /** The most attempts; if absent, the run continues until nothing can be done any more. */
  limit: z.number().int().positive().optional(),
  model: z.string().min(1).optional(),
  strategy: z.enum(MODEL_STRATEGIES).optional(),
  max_retries: z.number().int().min(0).max(100).optional(),
  /** `--no-verify`. */
  verify: z.boolean().optional(),
  /** How many tasks run at once, each in a worktree of its own. */
  parallel: z.number().int().min(1).max(MAX_PARALLEL_AGENTS).optional(),
  budget: StartSession.shape.budget,
})
export type RunOptions = z.infer<typeof RunOptions>

/** POST /runs */
export const StartRun = RunOptions.extend({
  project: z.string().min(1),
  target: RunTarget,
  env: StartSession.shape.env,
})
export type StartRun = z.infer<typeof StartRun>

/** The position of a session in its run; the agent sees it as PCC_ITERATION and PCC_TOTAL. */
export interface RunPosition {
  id: string
  iteration: number
  /** The most attempts, or the number of tasks of the target, in any state, if no limit was given. */
  total: number
}

/** The variables in which the agent sees it. They are the only ones that differ between two sessions of a run. */
export const RUN_VARIABLES = ['PCC_ITERATION', 'PCC_TOTAL'] as const

/** How many tasks are in each state. */
export const TaskCounts = z.partialRecord(TaskState, z.number())
export type TaskCounts = z.infer<typeof TaskCounts>

/** A run in GET /runs. */
export const RunView = z.object({
  id: z.string(),
  project: z.string(),
  target: RunTarget,
  state: RunState,
  outcome: RunOutcome.nullable(),
  reason: z.string().nullable(),
  /** Whether it ends after the current attempts. */
  stopping: z.boolean(),
  /** How many attempts it has started, and how many it may start. */
  iterations: z.number(),
  limit: z.number().nullable(),
  /** How many tasks it may work on at once. */
  parallel: z.number(),
  /** Whether finished work is verified (`execution.verify`, `--no-verify`). */
  verify: z.boolean(),
  /** The tasks of its target, now or when the run ended. */
  tasks: TaskCounts,
  /** How many of the done tasks are unverified. */
  unverified: z.number(),
  /** Of the tasks done in worktrees: how many reached their target, and how many did not. */
  merged: z.number(),
  unmerged: z.number(),
  /** How many finished tasks have a verification or a merge that waits for a person. */
  held: z.number(),
  /** Whether the run does nothing until a certain time, or until a person acts. */
  stands: z.boolean(),
  cost_usd: z.number(),
  created_at: z.number(),
  ended_at: z.number().nullable(),
})
export type RunView = z.infer<typeof RunView>

export const AttemptNow = z.object({
  status: SessionStatus,
  /** Set while the finished work is being verified or merged. */
  landing: z.enum(['verifying', 'merging']).nullable(),
  /** The agent's last message or action, in one line. */
  last_line: z.string().nullable(),
  /** When it resumes by itself. */
  resumes_at: z.number().nullable(),
  /** Why it is paused or waits for a person, with what helps; absent if nothing is known. */
  why: z.string().optional(),
  /** The decision for which it waits. */
  decision: z.number().nullable(),
  /** What blocks its merge, in a sentence (in `RunPlan` it is a list of tasks); absent if nothing does. */
  held_up: z.string().optional(),
})
export type AttemptNow = z.infer<typeof AttemptNow>

/** One attempt of a run. */
export const AttemptView = z.object({
  task_id: z.string(),
  title: z.string(),
  number: z.number(),
  iteration: z.number(),
  session_id: z.string(),
  /** The agent, if it was not Claude Code. */
  agent: z.string().optional(),
  /** All agents that worked on it, in order, if there were several. */
  agents: z.array(z.string()).optional(),
  /** Null if the agent chose its own. */
  model: z.string().nullable(),
  outcome: AttemptOutcome.nullable(),
  /** Whether the work was verified. */
  verification: Verification.nullable(),
  /** Set if it is done without any change. */
  changed_nothing: z.literal(true).optional(),
  reason: z.string().nullable(),
  cost_usd: z.number(),
  started_at: z.number(),
  ended_at: z.number().nullable(),
  /** The worktree in which it works, and its branch; null if it works in the project itself. */
  place: z.object({ top: z.string(), branch: z.string() }).nullable(),
  /** The state of its session while the attempt is open. */
  now: AttemptNow.nullable(),
})
export type AttemptView = z.infer<typeof AttemptView>

/** A ready task that waits because it will probably change the same files as one at work. */
export const KeptApartTask = z.object({
  id: z.string(),
  title: z.string(),
  /** The running task. */
  beside: z.string(),
  /** The file or folder that both will probably change; `.` is the top of the project. */
  path: z.string(),
})
export type KeptApartTask = z.infer<typeof KeptApartTask>

/** A session of a run that could not go on with it. */
const NotResumed = z.object({ session: z.string(), why: z.string(), next: z.string().optional() })
export type NotResumed = z.infer<typeof NotResumed>

/** GET /runs/:ref */
export const RunDetail = RunView.extend({
  /** The open attempts and the latest of the others, in the order in which they were started. */
  attempts: z.array(AttemptView),
  /** How full the account of its sessions is. */
  quota: z
    .object({
      level: QuotaLevel,
      window: z.string(),
      utilization: z.number(),
      source: QuotaSource,
      tokens: z.number().optional(),
    })
    .nullable(),
  /** The estimated time for the open tasks, from the time that others took; null while nothing is known. */
  left_ms: z.number().nullable(),
  /** Ready tasks that wait because they will probably change the same files as one at work. */
  kept_apart: z.array(KeptApartTask.extend({ why: z.string() })),
  /** What waits for a person in this run; only in the answer to GET /runs/:ref. */
  needs: z.array(Need).optional(),
  /** The answer to a start: the run was there and waited for its account; it goes on with the environment that was sent. */
  mended: z.literal(true).optional(),
  /** Only in the answer to a request to go on: the sessions that could not. */
  not_resumed: z.array(NotResumed).optional(),
})
export type RunDetail = z.infer<typeof RunDetail>

const PlannedStep = z.object({
  id: z.string(),
  title: z.string(),
  /** Null if the agent chooses its own. */
  model: z.string().nullable(),
  why: z.string(),
})
export type PlannedStep = z.infer<typeof PlannedStep>

const PlannedModel = z.object({
  /** Null if the agent takes its own. */
  model: z.string().nullable(),
  tasks: z.number(),
  /** What they cost if each goes well at its first try; null if that is not known. */
  cost_usd: z.number().nullable(),
  /** `history`: the mean of earlier attempts with this model. `prices`: that of another model, at the list price of this one. */
  by: z.enum(['history', 'prices']).nullable(),
  /** How many earlier attempts that is from. */
  attempts: z.number(),
})
export type PlannedModel = z.infer<typeof PlannedModel>

/** POST /runs/plan: the steps of a run, if all goes well. */
export const RunPlan = z.object({
  project: z.string(),
  target: RunTarget,
  steps: z.array(PlannedStep),
  strategy: z.enum(MODEL_STRATEGIES),
  /** How many of the tasks go to which model, most first, and what that is expected to cost. */
  models: z.array(PlannedModel),
  /** Tasks that would not run, because a dependency is not part of the run or has failed. */
  held_up: z.array(z.object({ id: z.string(), title: z.string(), why: z.string() })),
  /** How many tasks would still be ready after the last step that the limit allows. */
  beyond_limit: z.number(),
  /** How many tasks run at once. */
  parallel: z.number(),
  /** Why the tasks would run in the project itself, one at a time; null if each gets a worktree. */
  in_place: z.string().nullable(),
})
export type RunPlan = z.infer<typeof RunPlan>

/** POST /runs/:ref/stop */
export const StopRun = z.strictObject({ now: z.boolean().optional() })

/** POST /runs/:ref/resume. The environment counts if the run waits for an account that cannot be used, or for a vendor that does not answer. */
export const ResumeRun = z.strictObject({ env: z.record(z.string(), z.string()).optional() })

/** POST /tasks/:ref/guidance */
export const GuideTask = z.strictObject({ text: z.string().trim().min(1).max(100_000) })

/** The reply of POST /tasks/:ref/guidance. */
export const GuidedTask = z.object({
  id: z.string(),
  title: z.string(),
  /** Whether its agent was running and received it. */
  told: z.boolean(),
})
export type GuidedTask = z.infer<typeof GuidedTask>
