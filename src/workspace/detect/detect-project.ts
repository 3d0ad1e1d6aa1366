import { dirname, join, resolve } from 'node:path'
import { quoteForShell } from '../../base/words.ts'
import { GATE_COMMANDS, type GateCommand } from '../../domain/option-values.ts'
import {
  COMMAND_KINDS,
  type FactProblem,
  type GitFacts,
  type ProjectCommand,
  type ProjectFacts,
  type ProjectUnit,
} from '../../domain/project-facts.ts'
import { type Ecosystem, type FoundCommand, type FoundEcosystem, taskRunners } from './ecosystem.ts'
import { countLanguages, findSourceDirectories } from './languages.ts'
import { node } from './node.ts'
import { dart, dotnet, go, gradle, maven, php, plainEcosystems, ruby, rust } from './other-ecosystems.ts'
import { canBeUnit, type Folder, openFolder, type ProjectReader, walkProject } from './project-files.ts'
import { python } from './python.ts'

const ECOSYSTEMS: readonly Ecosystem[] = [
  node,
  python,
  rust,
  go,
  maven,
  gradle,
  php,
  ruby,
  dotnet,
  dart,
  plainEcosystems,
]

/** How many units are listed, since a person reads the list. */
const MOST_UNITS = 20
/** A workspace may have hundreds of members. */
const MOST_MEMBERS = 500

/**
 * Recognises a project from its files alone: nothing is run and nothing is written. Files that are broken or too large are
 * named among the problems and otherwise count as if they were empty.
 */
export async function detectProject(reader: ProjectReader, project: string): Promise<ProjectFacts> {
  const walked = await walkProject(reader)
  const problems: FactProblem[] = []
  const found: FoundUnit[] = []
  const commands: ProjectCommand[] = []
  for (const folder of walked.folders.filter(canBeUnit)) {
    const opened = openFolder(folder, reader, problems)
    const here = await findUnits(opened, found)
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
    languages: countLanguages(walked),
    units: found.map(toProjectUnit),
    commands: commands.sort((a, b) => COMMAND_KINDS.indexOf(a.kind) - COMMAND_KINDS.indexOf(b.kind)),
    source_directories: findSourceDirectories(walked),
    git: await readGitFacts(reader, project),
    problems,
  }
}

/** A unit that was found in a folder. */
export interface FoundUnit extends FoundEcosystem {
  directory: string
  /** Members of its workspace that were found. */
  inside: string[]
  /** It is a task runner without a language of its own. */
  isRunner: boolean
}

/** One unit for each ecosystem of a folder; a member of a workspace above is added to that workspace instead. */
async function findUnits(folder: Folder, before: readonly FoundUnit[]): Promise<FoundUnit[]> {
  const units: FoundUnit[] = []
  for (const ecosystem of ECOSYSTEMS) {
    const alone = await ecosystem(folder)
    if (!alone) continue
    const above = findNearestAbove(folder.path, alone.ecosystem, before)
    const owner = before.find(unit => unit.ecosystem === alone.ecosystem && isMemberOf(folder.path, unit))
    if (owner) {
      if (owner.inside.length < MOST_MEMBERS) owner.inside.push(folder.path)
      continue
    }
    const found = above ? ((await ecosystem(folder, above)) ?? alone) : alone
    units.push({ ...found, directory: folder.path, inside: [], isRunner: false })
  }
  // A Makefile below the top is usually included by the one above.
  const runner = folder.path === '.' ? await taskRunners(folder) : undefined
  return runner ? [...units, { ...runner, directory: folder.path, inside: [], isRunner: true }] : units
}

function isMemberOf(path: string, { directory, members = [] }: FoundUnit): boolean {
  if (members.length === 0 || !isBelow(path, directory)) return false
  return isMember(directory === '.' ? path : path.slice(directory.length + 1), members)
}

function findNearestAbove(path: string, ecosystem: string, units: readonly FoundUnit[]): FoundUnit | undefined {
  return units.findLast(unit => unit.ecosystem === ecosystem && isBelow(path, unit.directory))
}

function isBelow(path: string, directory: string): boolean {
  return directory === '.' ? path !== '.' : path.startsWith(`${directory}/`)
}

function toProjectUnit({ directory, ecosystem, manager, manager_from, inside }: FoundUnit): ProjectUnit {
  return { directory, ecosystem, manager, manager_from, members: inside }
}

interface Candidates {
  commands: FoundCommand[]
  isRunner: boolean
}

/**
 * The commands of one folder. Commands that the project declares are preferred to usual ones; those of a Makefile or another task
 * runner are used where the folder has several ecosystems, or one with only usual commands.
 */
function chooseCommands(directory: string, units: readonly Candidates[]): ProjectCommand[] {
  const ecosystems = units.filter(({ isRunner }) => !isRunner)
  const runner = units.find(({ isRunner }) => isRunner)
  return COMMAND_KINDS.flatMap(kind => {
    const own = ecosystems.flatMap(({ commands }) => commands.find(command => command.kind === kind) ?? [])
    const shared = runner?.commands.find(command => command.kind === kind)
    const isBetter = shared && (own.length !== 1 || own[0]?.declared === false)
    const chosen = shared && isBetter && kind !== 'setup' ? [shared] : own.length > 0 ? own : shared ? [shared] : []
    return chosen.map(command => ({ ...command, directory }))
  })
}

/** Whether a folder, relative to a workspace, belongs to it by the patterns of its manifest; `!` excludes. */
function isMember(folder: string, patterns: readonly string[]): boolean {
  const isMatch = (pattern: string) => toRegExp(pattern)?.test(folder) === true
  const included = patterns.filter(pattern => !pattern.startsWith('!'))
  const excluded = patterns.filter(pattern => pattern.startsWith('!'))
  return included.some(isMatch) && !excluded.some(pattern => isMatch(pattern.slice(1)))
}

/** A pattern with more stars was not written by a person, and matching it could take for ever. */
const MOST_STARS = 6

function toRegExp(pattern: string): RegExp | undefined {
  const plain = pattern.replace(/^\.\//, '').replace(/\/(package\.json)?$/, '')
  if (plain.length > 200 || (plain.match(/\*+/g)?.length ?? 0) > MOST_STARS) return undefined
  const parts = plain.split(/(\*\*\/|\*\*|\*|\?|\{[^{}]*\})/).map(part => {
    if (part === '**/') return '(?:.*/)?'
    if (part === '**') return '.*'
    if (part === '*') return '[^/]*'
    if (part === '?') return '[^/]'
    if (part.startsWith('{')) return `(?:${part.slice(1, -1).split(',').map(escapePattern).join('|')})`
    return escapePattern(part)
  })
  return new RegExp(`^${parts.join('')}$`)
}

function escapePattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

/** A proposed command for a gate. */
export interface GateProposal {
  gate: GateCommand
  run: string
  /** The file from which it was concluded. */
  from: string
  /** Why a person should check it first: it watches, or it changes files. */
  caution?: string
}

/** Proposes gates from the commands that were found; commands of several folders run one after the other. */
export function proposeGateCommands(commands: readonly ProjectCommand[]): GateProposal[] {
  return GATE_COMMANDS.flatMap(gate => {
    // A folder whose name needs quoting is not put into a command without a person's check.
    const mine = commands.filter(({ kind, directory }) => kind === gate && quoteForShell(directory) === directory)
    if (mine.length === 0) return []
    const caution = mine.find(command => command.caution !== undefined)?.caution
    const run = mine.map(({ run, directory }) => (directory === '.' ? run : `(cd ${directory} && ${run})`))
    return [
      {
        gate,
        run: run.join(' && '),
        from: mine.map(({ from }) => from).join(', '),
        ...(caution !== undefined && { caution }),
      },
    ]
  })
}

/**
 * Facts from git's own files, read without running git: a repository that somebody else owns could make git start programs.
 * Undefined if the directory is in no checkout.
 */
async function readGitFacts(reader: ProjectReader, project: string): Promise<GitFacts | undefined> {
  for (let top = resolve(project); ; top = dirname(top)) {
    const folder = await findGitFolder(reader, top)
    if (folder) return { top, ...(await findDefaultBranch(reader, folder)) }
    if (top === dirname(top)) return undefined
  }
}

interface GitFolder {
  /** The folder with this checkout's HEAD. */
  own: string
  /** The folder with the branches of all checkouts; the same unless this is a worktree. */
  common: string
}

async function findGitFolder(reader: ProjectReader, top: string): Promise<GitFolder | undefined> {
  const entry = (await reader.list(top)).find(({ name }) => name === '.git')
  if (!entry) return undefined
  if (entry.kind === 'folder') {
    const folder = join(top, '.git')
    return (await readText(reader, join(folder, 'HEAD'))) === undefined ? undefined : { own: folder, common: folder }
  }
  const pointer = /^gitdir: (.+)$/m.exec((await readText(reader, join(top, '.git'))) ?? '')?.[1]
  if (pointer === undefined) return undefined
  const own = resolve(top, pointer.trim())
  const common = (await readText(reader, join(own, 'commondir')))?.trim()
  return { own, common: common === undefined || common === '' ? own : resolve(own, common) }
}

/** The remote's HEAD; else `main` or `master` where it exists; else the branch that is checked out. */
async function findDefaultBranch(
  reader: ProjectReader,
  { own, common }: GitFolder,
): Promise<Pick<GitFacts, 'default_branch' | 'branch_from'>> {
  const remote = parseRef(await readText(reader, join(common, 'refs/remotes/origin/HEAD')), 'refs/remotes/origin/')
  if (remote !== undefined) return { default_branch: remote, branch_from: 'origin/HEAD' }
  const current = parseRef(await readText(reader, join(own, 'HEAD')), 'refs/heads/')
  const packed = (await readText(reader, join(common, 'packed-refs'))) ?? ''
  for (const name of ['main', 'master']) {
    const exists =
      current === name ||
      packed.includes(` refs/heads/${name}\n`) ||
      (await readText(reader, join(common, 'refs/heads', name))) !== undefined
    if (exists) return { default_branch: name, branch_from: 'its name' }
  }
  return current === undefined
    ? { default_branch: undefined, branch_from: undefined }
    : { default_branch: current, branch_from: 'the branch that is checked out' }
}

/** The branch that a ref file names; git writes `.invalid` where branches are not kept in files, which is refused. */
function parseRef(text: string | undefined, prefix: string): string | undefined {
  const name = text?.startsWith(`ref: ${prefix}`) ? text.slice(`ref: ${prefix}`.length).trim() : ''
  return /^[\p{L}\p{N}_][\p{L}\p{N}._/+@#=-]{0,199}$/u.test(name) ? name : undefined
}

async function readText(reader: ProjectReader, path: string): Promise<string | undefined> {
  const read = await reader.read(path)
  return read && 'text' in read ? read.text : undefined
}
