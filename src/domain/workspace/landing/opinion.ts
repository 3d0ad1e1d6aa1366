import * as z from 'zod'
import type { NewEvidence } from '../evidence.ts'

/** What a reading agent is given to judge an attempt's work by. */
export interface VerifierMaterial {
  /** Where the work lies; nothing in it may change while it is judged. */
  directory: string
  task: { id: string; title: string; description: string; acceptance: readonly string[] }
  /** The commits between which the work lies; null where there is no git. */
  base: string | null
  head: string | null
  /** As git tells it, already cut to a bound; empty where there is none. */
  diff: string
  /** Files and lines that were changed, of the whole diff. */
  size: { files: number; lines: number }
  /** What the gates before it saw. */
  checks: readonly NewEvidence[]
}

/** What it thinks of one criterion. */
export const CriterionOpinion = z.object({
  criterion: z.string(),
  met: z.boolean(),
  /** Why, with what it looked at. */
  reason: z.string(),
})
export type CriterionOpinion = z.infer<typeof CriterionOpinion>

/** `broken`: it gave no opinion that can be used, which is nobody's success. */
export interface VerifierOpinion {
  status: 'passed' | 'failed' | 'broken'
  criteria: CriterionOpinion[]
  /** What else it has to say, for the person and for the agent whose work it is. */
  remarks: string
  model: string | null
  cost_usd: number
}
