import * as z from 'zod'
import { StartSession } from '../api.ts'
import type { TaskCounts } from '../runs/run-view.ts'
import { MAX_DOCUMENT } from './document.ts'
import type { FeaturePhase } from './phase.ts'

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
export interface FeaturePlace {
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
export const GoOnFeature = z.strictObject({ ...Going, project: z.string().min(1) })
export type GoOnFeature = z.infer<typeof GoOnFeature>

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
