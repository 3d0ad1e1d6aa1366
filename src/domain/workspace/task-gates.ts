import type { Evidence } from './evidence.ts'

/** GET /tasks/:ref/gates */
export interface TaskGates {
  id: string
  title: string
  project: string
  /** Where it works: its worktree, or the project itself. */
  directory: string
  /** What the gates saw of it the last time; empty where nobody has looked. */
  evidence: Evidence[]
}
