import * as z from 'zod'
import { StartSession } from '../api.ts'
import { ImportedTask } from './requests.ts'

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
