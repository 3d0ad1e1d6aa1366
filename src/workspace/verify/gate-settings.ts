import type { Config } from '../../domain/config/settings.ts'
import type { GateProfile } from '../../domain/option-values.ts'
import { type DiffSettings, diffSettingsIn } from './diff/change.ts'

/** Commands that a person may name, in the order in which they run: what is told soonest comes first. */
export const GATE_COMMANDS = ['build', 'typecheck', 'lint', 'test'] as const
export type GateCommand = (typeof GATE_COMMANDS)[number]

/** What is to be checked, as the settings of a project have it. */
export interface GateSettings {
  profile: GateProfile
  commands: Partial<Record<GateCommand, string>>
  timeoutMs: number
  /** Names of variables that commands may see beside the usual. */
  env: readonly string[]
  /** How often a failed check goes back into the same conversation. */
  rounds: number
  verifier: 'auto' | 'on' | 'off'
  /** Whether tests that failed before the work began stand in its way. */
  knownFailures: 'block' | 'allow'
  diff: DiffSettings
}

/** The settings of a project's gates. Commands of a file that nobody trusts are not in `config`, and so not here. */
export function readGateSettings({ gates }: Pick<Config, 'gates'>): GateSettings {
  const commands = GATE_COMMANDS.flatMap(name => (gates[name] === undefined ? [] : [[name, gates[name]]]))
  return {
    profile: gates.profile,
    commands: Object.fromEntries(commands),
    timeoutMs: gates.timeout_seconds * 1000,
    env: gates.env,
    rounds: gates.rounds,
    verifier: gates.verifier,
    knownFailures: gates.known_failures,
    diff: diffSettingsIn({ gates }),
  }
}

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
