import type { GateProfile } from '../../domain/workspace/gate-profile.ts'
import type { GateCommand } from './gate-settings.ts'

export interface Profile {
  commands: readonly GateCommand[]
  /** What tests are compared with: the base's results where they are known already, run where they are not, run anew always. */
  base: 'known' | 'run' | 'anew'
  /** Whether a green result of the same tree, command, lock files and tools stands for another run. */
  cache: boolean
  /** When a second agent looks: never, for what no command can prove, always. `gates.verifier` says otherwise. */
  verifier: 'never' | 'unproven' | 'always'
}

/** What each profile contains. Plan, diff and acceptance criteria are looked at in all of them: they cost nothing. */
export const PROFILES: Record<GateProfile, Profile> = {
  quick: { commands: ['typecheck', 'test'], base: 'known', cache: true, verifier: 'never' },
  standard: { commands: ['build', 'typecheck', 'lint', 'test'], base: 'run', cache: true, verifier: 'unproven' },
  deep: { commands: ['build', 'typecheck', 'lint', 'test'], base: 'anew', cache: false, verifier: 'always' },
}
