import type { FeatureOptions, FeatureUntil } from '../../domain/features/feature.ts'
import type { FeaturePhase } from '../../domain/features/phase.ts'
import type { ImportedTask } from '../../domain/tasks/requests.ts'

/** A feature as the rest of the program sees it. Its spec and its plan are files of the project. */
export interface FeatureRow {
  id: string
  project: string
  name: string
  phase: FeaturePhase
  until: FeatureUntil
  /** Who is at the phase; nobody before somebody says that it goes on. */
  session_id: string | null
  /** What the person had written down, in place of an interview. */
  source: string | null
  options: FeatureOptions
  /** Tasks that the agent has added so far: they become real ones together, when it is done. */
  draft: ImportedTask[]
  problem: string | null
  created_at: number
  updated_at: number
}

export type FeaturesTable = Omit<FeatureRow, 'options' | 'draft'> & { options: string; draft: string }
