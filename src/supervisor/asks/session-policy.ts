import type { WorktreeFence } from '../../policy/paths/place.ts'
import type { PolicyRule } from '../../policy/verdict/rules.ts'

/** What holds for every request of one session: its place, and what the settings and the person said. */
export interface SessionPolicy {
  /** Real path of the project. */
  project: string
  home: string
  /** Of a session that works in a worktree of its own; `project` may then lie elsewhere. */
  worktree?: WorktreeFence | undefined
  safeDirectories: readonly string[]
  blocked: readonly string[]
  /** The rules in force now: a file that changes counts from the next request on. */
  rules(): Promise<readonly PolicyRule[]>
  /** `--allowed-tools` of who started the session. */
  allowedTools: readonly string[]
  autoApproveLow: boolean
  threshold: number
  unattendedHigh: 'deny' | 'wait'
}
