import * as z from 'zod'
import { type SessionStatus, StartSession } from './api.ts'
import type { RunOutcome } from './attempt.ts'
import { MAX_PARALLEL_AGENTS, MODEL_STRATEGIES } from './option-values.ts'
import type { QuotaLevel, QuotaSource } from './quota.ts'
import type { TaskState, Verification } from './task.ts'

/** What a run works through: a whole project, a feature, or one task with its parts. */
export const RunTarget = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('project') }),
  z.strictObject({ kind: z.literal('feature'), name: z.string().min(1) }),
  z.strictObject({ kind: z.literal('task'), id: z.string().min(1) }),
])
export type RunTarget = z.infer<typeof RunTarget>

export const RunState = z.enum(['running', 'paused', 'ended'])
export type RunState = z.infer<typeof RunState>

/** The options of a run, without the caller's environment. */
export const RunOptions = z.strictObject({
  /** The most attempts; if absent, the run continues until nothing can be done any more. */
  limit: z.number().int().positive().optional(),
  agent: StartSession.shape.agent,
  model: z.string().min(1).optional(),
  strategy: z.enum(MODEL_STRATEGIES).optional(),
  max_retries: z.number().int().min(0).max(100).optional(),
  /** `--no-verify`. */
  verify: z.boolean().optional(),
  /** How many tasks run at once, each in a worktree of its own. */
  parallel: z.number().int().min(1).max(MAX_PARALLEL_AGENTS).optional(),
  budget: StartSession.shape.budget,
  /** As in `StartSession`. */
  auto_resume: z.boolean().optional(),
  auto_approve: z.boolean().optional(),
  brain: StartSession.shape.brain,
  brain_model: StartSession.shape.brain_model,
  confidence: StartSession.shape.confidence,
  config: StartSession.shape.config,
  settings: StartSession.shape.settings,
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

/** How many tasks are in each state. */
export type TaskCounts = Partial<Record<TaskState, number>>

/** A run in GET /runs. */
export interface RunView {
  id: string
  project: string
  target: RunTarget
  state: RunState
  outcome: RunOutcome | null
  reason: string | null
  /** Whether it ends after the current attempts. */
  stopping: boolean
  /** How many attempts it has started, and how many it may start. */
  iterations: number
  limit: number | null
  /** How many tasks it may work on at once. */
  parallel: number
  /** Whether finished work is verified (`execution.verify`, `--no-verify`). */
  verify: boolean
  /** The tasks of its target, now or when the run ended. */
  tasks: TaskCounts
  /** How many of the done tasks are unverified. */
  unverified: number
  /** Of the tasks done in worktrees: how many reached their target, and how many did not. */
  merged: number
  unmerged: number
  cost_usd: number
  created_at: number
  ended_at: number | null
}

/** One attempt of a run. */
export interface AttemptView {
  task_id: string
  title: string
  number: number
  iteration: number
  session_id: string
  /** The agent, if it was not Claude Code. */
  agent?: string
  /** All agents that worked on it, in order, if there were several. */
  agents?: string[]
  /** Null if the agent chose its own. */
  model: string | null
  outcome: 'done' | 'failed' | 'interrupted' | null
  /** Whether the work was verified. */
  verification: Verification | null
  /** Set if it is done without any change. */
  changed_nothing?: true
  reason: string | null
  cost_usd: number
  started_at: number
  ended_at: number | null
  /** The worktree in which it works, and its branch; null if it works in the project itself. */
  place: { top: string; branch: string } | null
  /** The state of its session while the attempt is open. */
  now: AttemptNow | null
}

export interface AttemptNow {
  status: SessionStatus
  /** Set while the finished work is being verified or merged. */
  landing: 'verifying' | 'merging' | null
  /** The agent's last message or action, in one line. */
  last_line: string | null
  /** When it resumes by itself. */
  resumes_at: number | null
  /** Why it is paused, with what helps; absent if nothing is known. */
  why?: string
  /** The decision for which it waits. */
  decision: number | null
  /** What blocks its merge, as text; absent if nothing does. */
  held_up?: string
}

/** GET /runs/:ref */
export interface RunDetail extends RunView {
  /** The open attempts and the latest of the others, in the order in which they were started. */
  attempts: AttemptView[]
  /** How full the account of its sessions is. */
  quota: { level: QuotaLevel; window: string; utilization: number; source: QuotaSource; tokens?: number } | null
  /** The estimated time for the open tasks, from the time that others took; null while nothing is known. */
  left_ms: number | null
  /** Ready tasks that wait because they will probably change the same files as one at work. */
  kept_apart: (HeldBackTask & { why: string })[]
  /** The answer to a start: the run was there and waited for its account; it goes on with the environment that was sent. */
  mended?: true
}

export interface HeldBackTask {
  id: string
  title: string
  /** The running task. */
  beside: string
  /** The file or folder that both will probably change; `.` is the top of the project. */
  path: string
}

/** POST /runs/plan: the steps of a run, if all goes well. */
export interface RunPlan {
  project: string
  target: RunTarget
  steps: PlannedStep[]
  /** Tasks that would not run, because a dependency is not part of the run or has failed. */
  held_up: { id: string; title: string; why: string }[]
  /** How many tasks would still be ready after the last step that the limit allows. */
  beyond_limit: number
  /** How many tasks run at once. */
  parallel: number
  /** Why the tasks would run in the project itself, one at a time; null if each gets a worktree. */
  in_place: string | null
}

export interface PlannedStep {
  id: string
  title: string
  /** Null if the agent chooses its own. */
  model: string | null
  why: string
}

/** POST /runs/:ref/stop */
export const StopRun = z.strictObject({ now: z.boolean().optional() })

/** POST /runs/:ref/resume. The environment counts if the run waits for an account that cannot be used, or for a vendor that does not answer. */
export const ResumeRun = z.strictObject({ env: z.record(z.string(), z.string()).optional() })

/** POST /tasks/:ref/guidance */
export const GuideTask = z.strictObject({ text: z.string().trim().min(1).max(100_000) })

/** The reply of POST /tasks/:ref/guidance. */
export interface GuidedTask {
  id: string
  title: string
  /** Whether its agent was running and received it. */
  told: boolean
}
