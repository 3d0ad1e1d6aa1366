import * as z from 'zod'
import { StartSession } from './api.ts'
import { type FeaturePhase, MAX_DOCUMENT } from './feature-phase.ts'
import type { TaskCounts } from './run.ts'
import { ImportedTask } from './task-requests.ts'

/** A phase that an agent works at. */
export type WorkPhase = Exclude<FeaturePhase, 'ready'>

/** How far it goes by itself: then a person may read and edit what was written. */
export const FeatureUntil = z.enum(['spec', 'plan', 'tasks'])
export type FeatureUntil = z.infer<typeof FeatureUntil>

/** It names a directory and a run's target, so it is one plain word. */
export const FeatureName = z
  .string()
  .regex(
    /^[\p{L}\p{N}](?:[\p{L}\p{N}._-]{0,61}[\p{L}\p{N}_-])?$/u,
    'one word of letters, digits, ".", "_" and "-", at most 63 of them',
  )
  .refine(name => !/^[tsrf]-[0-9a-f]{1,6}$/i.test(name), 'it looks like an id')

/** Which feature, and which part of its way, a session works at. */
export interface FeaturePosition {
  id: string
  name: string
  phase: WorkPhase
}

/** What the sessions of a feature run with. */
export const FeatureOptions = z.strictObject({
  agent: StartSession.shape.agent,
  model: StartSession.shape.model,
  /** Of each of its sessions. */
  budget: StartSession.shape.budget,
  auto_resume: StartSession.shape.auto_resume,
  config: StartSession.shape.config,
  settings: StartSession.shape.settings,
})
export type FeatureOptions = z.infer<typeof FeatureOptions>

const Going = {
  until: FeatureUntil,
  env: StartSession.shape.env,
  /** The caller is about to attach to its session. */
  attach: z.boolean().optional(),
}

/** POST /features */
export const CreateFeature = FeatureOptions.extend({
  ...Going,
  project: z.string().min(1),
  name: FeatureName,
  /** What the person has written down already, in place of an interview; with `ai: false` the plan. */
  from: z.string().max(MAX_DOCUMENT).optional(),
  /** False: no agent is asked; the tasks are the check-list of the plan. */
  ai: z.boolean(),
})
export type CreateFeature = z.infer<typeof CreateFeature>

/** POST /features/:name/go-on */
export const ContinueFeatureRequest = z.strictObject({ ...Going, project: z.string().min(1) })
export type ContinueFeatureRequest = z.infer<typeof ContinueFeatureRequest>

/** DELETE /features/:name */
export const DeleteFeature = z.strictObject({
  project: z.string().min(1),
  /** Its files too. */
  files: z.enum(['true']).optional(),
  /** Its tasks too, all of them or none. */
  tasks: z.enum(['true']).optional(),
})

/** A feature as the API shows it. One that only tasks speak of has no id. */
export interface FeatureView {
  id: string | null
  project: string
  name: string
  phase: FeaturePhase
  until: FeatureUntil
  /** The session that is at it, or was when it came to a halt. */
  session: { id: string; status: string; reason: string | null } | null
  /** Why it does not go on by itself. */
  problem: string | null
  /** Where its files are, and which there are. */
  spec: { path: string; exists: boolean }
  plan: { path: string; exists: boolean }
  tasks: TaskCounts
  created_at: number | null
  updated_at: number | null
}

/** POST /tasks/propose: what somebody wants, for an agent to make tasks of. */
export const ProposeTasks = z.strictObject({
  project: z.string().min(1),
  text: z.string().trim().min(1).max(100_000),
  feature: ImportedTask.shape.feature,
  /** All of them are parts of this task. */
  parent: ImportedTask.shape.parent,
  /** Those that come after none of the others come after these. */
  after: ImportedTask.shape.after,
  agent: StartSession.shape.agent,
  model: StartSession.shape.model,
  config: StartSession.shape.config,
  settings: StartSession.shape.settings,
  env: StartSession.shape.env,
})
export type ProposeTasks = z.infer<typeof ProposeTasks>

/** More than a person would read before they say yes. */
export const MAX_PROPOSED = 50

/** One task as an agent proposes it: nothing that only a person or a run may say of one. */
const ProposedTask = ImportedTask.pick({
  id: true,
  title: true,
  description: true,
  acceptance: true,
  after: true,
  parent: true,
  priority: true,
  type: true,
  labels: true,
})

/** What an agent replies. */
export const ProposedTasks = z.strictObject({
  tasks: z.array(ProposedTask).min(1).max(MAX_PROPOSED),
  /** What the person should know: what was taken for granted, what is left open. */
  remarks: z.string().max(20_000).optional(),
})

/** Answer of POST /tasks/propose. Nothing is stored: `tasks` is what POST /tasks/import takes. */
export interface Proposal {
  project: string
  tasks: ImportedTask[]
  remarks: string
  model: string | null
  cost_usd: number
}
