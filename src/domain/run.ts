import * as z from 'zod'
import { type SessionStatus, StartSession } from './api.ts'
import type { RunOutcome } from './attempt.ts'
import { MAX_PARALLEL_AGENTS, MODEL_STRATEGIES } from './option-values.ts'
import type { QuotaLevel } from './quota.ts'
import type { TaskState, Verification } from './task.ts'

/** What a run drains: everything of a project, of a feature, or one task with what belongs to it. */
export const RunTarget = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('project') }),
  z.strictObject({ kind: z.literal('feature'), name: z.string().min(1) }),
  z.strictObject({ kind: z.literal('task'), id: z.string().min(1) }),
])
export type RunTarget = z.infer<typeof RunTarget>

export const RunState = z.enum(['running', 'paused', 'ended'])
export type RunState = z.infer<typeof RunState>

/** What a run was asked for, without the caller's environment. */
export const RunOptions = z.strictObject({
  /** Most attempts; without it until nothing can be done any more. */
  limit: z.number().int().positive().optional(),
  agent: StartSession.shape.agent,
  model: z.string().min(1).optional(),
  strategy: z.enum(MODEL_STRATEGIES).optional(),
  max_retries: z.number().int().min(0).max(100).optional(),
  /** `--no-verify`. */
  verify: z.boolean().optional(),
  /** Tasks at once, each in a worktree of its own. */
  parallel: z.number().int().min(1).max(MAX_PARALLEL_AGENTS).optional(),
  budget: StartSession.shape.budget,
  /** As of `StartSession`. */
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

/** Where in a run a session stands; the agent sees it as PCC_ITERATION and PCC_TOTAL. */
export interface RunPosition {
  id: string
  iteration: number
  /** Attempts at most, or tasks that there are to do, where no limit was given. */
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
  /** It ends after what is at work. */
  stopping: boolean
  /** Attempts that it has begun, and the most that it may begin. */
  iterations: number
  limit: number | null
  /** Tasks that it may do at once. */
  parallel: number
  /** Whether what its agents call done is to be checked (`execution.verify`, `--no-verify`). */
  verify: boolean
  /** The tasks of its target: now, or when it ended. */
  tasks: TaskCounts
  /** Of those that are done, the ones that nobody has checked. */
  unverified: number
  /** Of those that it did in worktrees: whose work reached its target, and whose did not. */
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
  /** Who did it, where that was not Claude Code. */
  agent?: string
  /** All that did it, one after the other, where there were several. */
  agents?: string[]
  /** Null where the agent took its own. */
  model: string | null
  outcome: 'done' | 'failed' | 'interrupted' | null
  /** What is known of the claim that it is done. */
  verification: Verification | null
  reason: string | null
  cost_usd: number
  started_at: number
  ended_at: number | null
  /** The worktree that it works in, and its branch; null where it works in the project itself. */
  place: { top: string; branch: string } | null
  /** How its session stands, while it is open. */
  now: AttemptNow | null
}

export interface AttemptNow {
  status: SessionStatus
  /** What it called done is verified, or merged. */
  landing: 'verifying' | 'merging' | null
  /** What its agent said or did last, in one line. */
  last_line: string | null
  /** When it goes on by itself. */
  resumes_at: number | null
  /** The decision that it waits for. */
  decision: number | null
  /** What stands in the way of its merge, in words; absent where nothing does. */
  held_up?: string
}

/** GET /runs/:ref */
export interface RunDetail extends RunView {
  /** Those that are open, and the latest of the others, in the order in which they were begun. */
  attempts: AttemptView[]
  /** How full the account of its sessions is. */
  quota: { level: QuotaLevel; window: string; utilization: number } | null
  /** Time that the open tasks will take, by what others took; null while nothing is known. */
  left_ms: number | null
  /** Tasks that are ready and wait all the same: they would touch the same files as one at work. */
  kept_apart: HeldBackTask[]
}

export interface HeldBackTask {
  id: string
  title: string
  /** The task at work. */
  beside: string
  /** What both will probably touch. */
  path: string
}

/** POST /runs/plan: what a run would work through, if all went well. */
export interface RunPlan {
  project: string
  target: RunTarget
  steps: PlannedStep[]
  /** Tasks that would not run: what they come after is not part of it, or has failed. */
  held_up: { id: string; title: string; why: string }[]
  /** Ready after the last step that the limit allows. */
  beyond_limit: number
  /** Tasks at once. */
  parallel: number
  /** Why they would be done in the project itself, and then one at a time; null where each gets a worktree. */
  in_place: string | null
}

export interface PlannedStep {
  id: string
  title: string
  /** Null where the agent takes its own. */
  model: string | null
  why: string
}

/** POST /runs/:ref/stop */
export const StopRun = z.strictObject({ now: z.boolean().optional() })

/** POST /tasks/:ref/guidance */
export const GuideTask = z.strictObject({ text: z.string().trim().min(1).max(100_000) })

/** Its answer. */
export interface GuidedTask {
  id: string
  title: string
  /** Its agent is at work and was told. */
  told: boolean
}
