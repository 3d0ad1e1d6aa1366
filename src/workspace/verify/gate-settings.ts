import type { Config } from '../../domain/config/config.ts'
import type { GateProfile } from '../../domain/workspace/gate-profile.ts'
import type { DiffSettings } from './diff/change/change.ts'
import { diffSettingsIn } from './diff/diff-settings.ts'

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
export function gatesIn({ gates }: Pick<Config, 'gates'>): GateSettings {
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
