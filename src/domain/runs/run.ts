import * as z from 'zod'
import { StartSession } from '../api.ts'
import { MODEL_STRATEGIES } from './model-strategy.ts'
import { MOST_AT_ONCE } from './most-at-once.ts'

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
  parallel: z.number().int().min(1).max(MOST_AT_ONCE).optional(),
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
export interface RunPlace {
  id: string
  iteration: number
  /** Attempts at most, or tasks that there are to do, where no limit was given. */
  total: number
}
