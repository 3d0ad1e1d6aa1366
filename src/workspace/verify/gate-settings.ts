import type { Config } from '../../domain/config/settings.ts'
import { GATE_COMMANDS, type GateCommand, type GateProfile } from '../../domain/option-values.ts'
import { type CommandCaps, readCommandCaps } from '../command/command-caps.ts'
import { type DiffSettings, diffSettingsIn } from './diff/change.ts'

/** What is to be checked, from the settings of a project. */
export interface GateSettings {
  profile: GateProfile
  commands: Partial<Record<GateCommand, string>>
  timeoutMs: number
  /** Names of variables that commands may see besides the usual ones. */
  env: readonly string[]
  /** How often a failed check goes back into the same conversation. */
  rounds: number
  verifier: 'auto' | 'on' | 'off'
  /** Whether tests that failed before the work began block it. */
  knownFailures: 'block' | 'allow'
  /** Whether work that nothing proves waits for a person. */
  unproven: 'allow' | 'ask'
  diff: DiffSettings
  /** What each command may use. */
  caps: CommandCaps
}

/** Reads the settings of a project's gates. `config` holds no commands from files that nobody trusts. */
export function readGateSettings({ gates, data }: Pick<Config, 'gates' | 'data'>): GateSettings {
  const commands = GATE_COMMANDS.flatMap(name => (gates[name] === undefined ? [] : [[name, gates[name]]]))
  return {
    profile: gates.profile,
    commands: Object.fromEntries(commands),
    timeoutMs: gates.timeout_seconds * 1000,
    env: gates.env,
    rounds: gates.rounds,
    verifier: gates.verifier,
    knownFailures: gates.known_failures,
    unproven: gates.unproven,
    diff: diffSettingsIn({ gates }),
    caps: readCommandCaps({ gates, data }),
  }
}

/** The commands that a verifying agent may run itself: those of the profile, where it says so. */
export function verifierCommands({ profile, commands }: Pick<GateSettings, 'profile' | 'commands'>): string[] {
  const { verifierRuns, commands: names } = PROFILES[profile]
  return verifierRuns ? names.flatMap(name => commands[name] ?? []) : []
}

export interface Profile {
  commands: readonly GateCommand[]
  /** The base's results that tests are compared with: only cached ones, cached or run, or always run again. */
  base: 'known' | 'run' | 'anew'
  /** Whether a green result with the same tree, command, lock files and tools replaces another run. */
  cache: boolean
  /** When a second agent is asked: never, for what no command can prove, or always. `gates.verifier` overrides it. */
  verifier: 'never' | 'unproven' | 'always'
  /** Whether that agent may run the commands of the profile itself. */
  verifierRuns: boolean
}

/** What each profile contains. Plan, diff and acceptance criteria are checked in all of them: they cost nothing. */
export const PROFILES: Record<GateProfile, Profile> = {
  quick: { commands: ['typecheck', 'test'], base: 'known', cache: true, verifier: 'never', verifierRuns: false },
  standard: {
    commands: GATE_COMMANDS,
    base: 'run',
    cache: true,
    verifier: 'unproven',
    verifierRuns: false,
  },
  deep: {
    commands: GATE_COMMANDS,
    base: 'anew',
    cache: false,
    verifier: 'always',
    verifierRuns: true,
  },
}
