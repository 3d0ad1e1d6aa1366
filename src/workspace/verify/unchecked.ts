import { quoteForShell } from '../../base/words.ts'
import type { LoadedConfig } from '../../domain/config/load.ts'
import { detectProject, type GateProposal, proposeGateCommands } from '../detect/detect-project.ts'
import { openProjectReader } from '../detect/project-files.ts'
import { type GateSettings, PROFILES, readGateSettings } from './gate-settings.ts'

/** Why no command checks the work in a project, and what a person types to change that. */
export interface Unchecked {
  /** `untrusted`: nobody has agreed to the project's own gates. `found`: it has checks that are no gates. `none`: none was found. */
  why: 'untrusted' | 'found' | 'none'
  says: string
  fix: string
}

/** Whether a command of the profile is set. */
export function hasCheckCommands({ profile, commands }: Pick<GateSettings, 'profile' | 'commands'>): boolean {
  return PROFILES[profile].commands.some(name => commands[name] !== undefined)
}

/**
 * The checks that a project names itself and nobody has agreed to. Commands of the person for all projects do not stand in for them; those
 * of a variable or a flag are meant for this work.
 */
export function withheldChecks({
  config,
  untrusted,
  origin,
}: Pick<LoadedConfig, 'config' | 'untrusted' | 'origin'>): string[] {
  return PROFILES[readGateSettings(config).profile].commands
    .map(name => `gates.${name}`)
    .filter(key => untrusted.some(each => each === key) && !/^(flag|PCC_\w+)$/.test(origin(key)))
}

/** Says why no command checks the work in a project; undefined if one does. It reads files and runs nothing. */
export async function findUnchecked(
  loaded: Pick<LoadedConfig, 'config' | 'untrusted' | 'origin'>,
  project: string,
): Promise<Unchecked | undefined> {
  const quoted = quoteForShell(project)
  const own = withheldChecks(loaded)
  if (own.length > 0) {
    const says = `you have not agreed to the checks of this project: ${own.join(', ')}`
    return { why: 'untrusted', says, fix: `pcc trust ${quoted}` }
  }
  if (hasCheckCommands(readGateSettings(loaded.config))) return undefined
  const found = await findChecks(project)
  if (found.length === 0) {
    const says = 'no command was found that builds or tests this project'
    return { why: 'none', says, fix: `pcc config set gates.test "…" --project ${quoted}` }
  }
  const says = `the checks of this project are not set up: ${found.map(({ run }) => run).join(', ')}`
  return { why: 'found', says, fix: `pcc gates detect ${quoted} --write --trust` }
}

/** The commands that could check the work, apart from those that watch or change files. */
async function findChecks(project: string): Promise<GateProposal[]> {
  const { commands } = await detectProject(openProjectReader(project), project)
  return proposeGateCommands(commands).filter(({ caution }) => caution === undefined)
}
