import * as z from 'zod'
import { StartSession } from './api.ts'
import { FeaturePhase, FeatureUntil, MAX_DOCUMENT, type WorkPhase } from './feature-phase.ts'
import { TaskCounts } from './run.ts'
import { ImportedTask } from './task-requests.ts'

/** The name is used for a directory and as the target of a run, so it is one plain word. */
export const FeatureName = z
  .string()
  .regex(
    /^[\p{L}\p{N}](?:[\p{L}\p{N}._-]{0,61}[\p{L}\p{N}_-])?$/u,
    'one word of letters, digits, ".", "_" and "-", at most 63 of them',
  )
  .refine(name => !/^[tsrf]-[0-9a-f]{1,6}$/i.test(name), 'it looks like an id')

/** The feature, and its phase, on which a session works. */
export interface FeaturePosition {
  id: string
  name: string
  phase: WorkPhase
}

/** The options of a feature's sessions. */
export const FeatureOptions = z.strictObject({
  agent: StartSession.shape.agent,
  model: StartSession.shape.model,
  /** The budget of each session. */
  budget: StartSession.shape.budget,
  auto_resume: StartSession.shape.auto_resume,
  config: StartSession.shape.config,
  settings: StartSession.shape.settings,
})
export type FeatureOptions = z.infer<typeof FeatureOptions>

const ContinueFields = {
  until: FeatureUntil,
  env: StartSession.shape.env,
  /** The caller is about to attach to the feature's session. */
  attach: z.boolean().optional(),
}

/** POST /features */
export const CreateFeature = FeatureOptions.extend({
  ...ContinueFields,
  project: z.string().min(1),
  name: FeatureName,
  /** What the person has already written, instead of an interview; with `ai: false`, the plan. */
  from: z.string().max(MAX_DOCUMENT).optional(),
  /** If false, no agent is called, and the tasks are the check-list of the plan. */
  ai: z.boolean(),
})
export type CreateFeature = z.infer<typeof CreateFeature>

/** POST /features/:name/go-on */
export const ContinueFeatureRequest = z.strictObject({ ...ContinueFields, project: z.string().min(1) })
export type ContinueFeatureRequest = z.infer<typeof ContinueFeatureRequest>

/** DELETE /features/:name */
export const DeleteFeature = z.strictObject({
  project: z.string().min(1),
  /** Also deletes its files. */
  files: z.enum(['true']).optional(),
  /** Also deletes its tasks, all of them or none. */
  tasks: z.enum(['true']).optional(),
})

/** A feature as the API shows it. A feature that is only named in tasks has no id. */
export const FeatureView = z.object({
  id: z.string().nullable(),
  project: z.string(),
  name: z.string(),
  phase: FeaturePhase,
  until: FeatureUntil,
  /** The session that works on it, or worked on it when it stopped. */
  session: z.object({ id: z.string(), status: z.string(), reason: z.string().nullable() }).nullable(),
  /** Why it does not continue by itself. */
  problem: z.string().nullable(),
  /** The paths of its files, and whether they exist. */
  spec: z.object({ path: z.string(), exists: z.boolean() }),
  plan: z.object({ path: z.string(), exists: z.boolean() }),
  tasks: TaskCounts,
  created_at: z.number().nullable(),
  updated_at: z.number().nullable(),
})
export type FeatureView = z.infer<typeof FeatureView>

/** POST /tasks/propose: a person's wish, which an agent turns into tasks. */
export const ProposeTasks = z.strictObject({
  project: z.string().min(1),
  text: z.string().trim().min(1).max(100_000),
  feature: ImportedTask.shape.feature,
  /** The task of which all proposed tasks become parts. */
  parent: ImportedTask.shape.parent,
  /** Proposed tasks without a dependency on each other come after these tasks. */
  after: ImportedTask.shape.after,
  agent: StartSession.shape.agent,
  model: StartSession.shape.model,
  config: StartSession.shape.config,
  settings: StartSession.shape.settings,
  env: StartSession.shape.env,
})
export type ProposeTasks = z.infer<typeof ProposeTasks>

/** A person would not read more tasks before agreeing. */
export const MAX_PROPOSED = 50

/** A task as an agent proposes it, without the fields that only a person or a run may set. */
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

/** The reply of the agent. */
export const ProposedTasks = z.strictObject({
  tasks: z.array(ProposedTask).min(1).max(MAX_PROPOSED),
  /** What the person should know: assumptions and open points. */
  remarks: z.string().max(20_000).optional(),
})

/** The reply of POST /tasks/propose. Nothing is stored; POST /tasks/import accepts `tasks`. */
export interface Proposal {
  project: string
  tasks: ImportedTask[]
  remarks: string
  model: string | null
  cost_usd: number
}
