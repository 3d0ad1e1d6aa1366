import {
  COMMAND_KINDS,
  type FactProblem,
  type ProjectCommand,
  type ProjectFacts,
  type ProjectUnit,
} from '../../domain/project/project-facts.ts'
import { chooseCommands } from './choose-commands.ts'
import { dotnet } from './ecosystems/dotnet.ts'
import { go } from './ecosystems/go.ts'
import { gradle, maven } from './ecosystems/jvm.ts'
import { node } from './ecosystems/node.ts'
import { dart, others } from './ecosystems/others.ts'
import { php } from './ecosystems/php.ts'
import { python } from './ecosystems/python.ts'
import { ruby } from './ecosystems/ruby.ts'
import { runners } from './ecosystems/runners.ts'
import { rust } from './ecosystems/rust.ts'
import { type Folder, openFolder } from './folder.ts'
import type { Ecosystem, Found } from './found.ts'
import { gitFacts } from './git-facts.ts'
import { languagesIn, sourceDirectories } from './languages.ts'
import { isMember } from './members.ts'
import type { Reader } from './reader.ts'
import { mayBeUnit, walk } from './walk.ts'

const ECOSYSTEMS: readonly Ecosystem[] = [node, python, rust, go, maven, gradle, php, ruby, dotnet, dart, others]

/** A person reads the list. */
const MOST_UNITS = 20
/** A workspace may have hundreds of members. */
const MOST_MEMBERS = 500

/**
 * Recognises a project from its files alone: nothing is run and nothing is written. Files that are broken or too large are
 * named among the problems and otherwise count as if they were empty.
 */
export async function detectProject(reader: Reader, project: string): Promise<ProjectFacts> {
  const walked = await walk(reader)
  const problems: FactProblem[] = []
  const found: FoundUnit[] = []
  const commands: ProjectCommand[] = []
  for (const folder of walked.folders.filter(mayBeUnit)) {
    const opened = openFolder(folder, reader, problems)
    const here = await unitsIn(opened, found)
    if (here.length === 0) continue
    if (found.length + here.length > MOST_UNITS) {
      problems.push({
        file: folder.path,
        problem: `there are more than ${MOST_UNITS} projects below; the rest is left out`,
      })
      break
    }
    found.push(...here.filter(({ isRunner, commands: own }) => !isRunner || own.length > 0))
    commands.push(...chooseCommands(folder.path, here))
  }
  return {
    files: walked.files,
    is_cut: walked.isCut,
    languages: languagesIn(walked),
    units: found.map(unitOf),
    commands: commands.sort((a, b) => COMMAND_KINDS.indexOf(a.kind) - COMMAND_KINDS.indexOf(b.kind)),
    source_directories: sourceDirectories(walked),
    git: await gitFacts(reader, project),
    problems,
  }
}

/** What a folder is found to be. */
export interface FoundUnit extends Found {
  directory: string
  /** Folders of its workspace that were seen. */
  inside: string[]
  /** It runs commands of others and knows no language. */
  isRunner: boolean
}

/** One entry for each ecosystem of a folder; a member of a workspace above is noted there and is none of its own. */
async function unitsIn(folder: Folder, before: readonly FoundUnit[]): Promise<FoundUnit[]> {
  const units: FoundUnit[] = []
  for (const ecosystem of ECOSYSTEMS) {
    const alone = await ecosystem(folder)
    if (!alone) continue
    const above = nearestAbove(folder.path, alone.ecosystem, before)
    const owner = before.find(unit => unit.ecosystem === alone.ecosystem && belongs(folder.path, unit))
    if (owner) {
      if (owner.inside.length < MOST_MEMBERS) owner.inside.push(folder.path)
      continue
    }
    const found = above ? ((await ecosystem(folder, above)) ?? alone) : alone
    units.push({ ...found, directory: folder.path, inside: [], isRunner: false })
  }
  // Below the top a Makefile is mostly a piece of the one above.
  const runner = folder.path === '.' ? await runners(folder) : undefined
  return runner ? [...units, { ...runner, directory: folder.path, inside: [], isRunner: true }] : units
}

function belongs(path: string, { directory, members = [] }: FoundUnit): boolean {
  if (members.length === 0 || !isBelow(path, directory)) return false
  return isMember(directory === '.' ? path : path.slice(directory.length + 1), members)
}

function nearestAbove(path: string, ecosystem: string, units: readonly FoundUnit[]): FoundUnit | undefined {
  return units.findLast(unit => unit.ecosystem === ecosystem && isBelow(path, unit.directory))
}

function isBelow(path: string, directory: string): boolean {
  return directory === '.' ? path !== '.' : path.startsWith(`${directory}/`)
}

function unitOf({ directory, ecosystem, manager, manager_from, inside }: FoundUnit): ProjectUnit {
  return { directory, ecosystem, manager, manager_from, members: inside }
}
