import { dirname, join, resolve } from 'node:path'
import { quoteForShell } from '../../base/words.ts'
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

/** A person reads the list. */
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
    languages: countLanguages(walked),
    units: found.map(unitOf),
    commands: commands.sort((a, b) => COMMAND_KINDS.indexOf(a.kind) - COMMAND_KINDS.indexOf(b.kind)),
    source_directories: findSourceDirectories(walked),
    git: await readGitFacts(reader, project),
    problems,
  }
}

/** What a folder is found to be. */
export interface FoundUnit extends FoundEcosystem {
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
  const runner = folder.path === '.' ? await taskRunners(folder) : undefined
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

interface Candidates {
  commands: FoundCommand[]
  isRunner: boolean
}

/**
 * The commands of one folder. What the project names itself counts before what is usual; a Makefile or its like stands for
 * all ecosystems of the folder where there are several, and for one that only has what is usual.
 */
function chooseCommands(directory: string, units: readonly Candidates[]): ProjectCommand[] {
  const ecosystems = units.filter(({ isRunner }) => !isRunner)
  const runner = units.find(({ isRunner }) => isRunner)
  return COMMAND_KINDS.flatMap(kind => {
    const own = ecosystems.flatMap(({ commands }) => commands.find(each => each.kind === kind) ?? [])
    const all = runner?.commands.find(each => each.kind === kind)
    const isBetter = all && (own.length !== 1 || own[0]?.declared === false)
    const chosen = all && isBetter && kind !== 'setup' ? [all] : own.length > 0 ? own : all ? [all] : []
    return chosen.map(command => ({ ...command, directory }))
  })
}

/** Whether a folder, relative to a workspace's own, belongs to it by the patterns of its manifest; `!` takes out again. */
function isMember(folder: string, patterns: readonly string[]): boolean {
  const fits = (pattern: string) => patternOf(pattern)?.test(folder) === true
  const [taken, left] = [patterns.filter(each => !each.startsWith('!')), patterns.filter(each => each.startsWith('!'))]
  return taken.some(fits) && !left.some(each => fits(each.slice(1)))
}

/** More stars than that is no pattern of a person, and could keep us busy for ever. */
const MOST_STARS = 6

function patternOf(pattern: string): RegExp | undefined {
  const plain = pattern.replace(/^\.\//, '').replace(/\/(package\.json)?$/, '')
  if (plain.length > 200 || (plain.match(/\*+/g)?.length ?? 0) > MOST_STARS) return undefined
  const parts = plain.split(/(\*\*\/|\*\*|\*|\?|\{[^{}]*\})/).map(part => {
    if (part === '**/') return '(?:.*/)?'
    if (part === '**') return '.*'
    if (part === '*') return '[^/]*'
    if (part === '?') return '[^/]'
    if (part.startsWith('{')) return `(?:${part.slice(1, -1).split(',').map(escaped).join('|')})`
    return escaped(part)
  })
  return new RegExp(`^${parts.join('')}$`)
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

/** A command that a gate could be. */
export interface GateProposal {
  gate: 'build' | 'typecheck' | 'lint' | 'test'
  run: string
  /** What it was concluded from. */
  from: string
  /** Why it is not proposed without a look: it watches, it changes files. */
  caution?: string
}

/** What the commands that were found come to as gates: those of several folders one after the other. */
export function proposeGateCommands(commands: readonly ProjectCommand[]): GateProposal[] {
  return (['build', 'typecheck', 'lint', 'test'] as const).flatMap(gate => {
    // A folder with a strange name is nobody's to put into a command unseen.
    const mine = commands.filter(({ kind, directory }) => kind === gate && quoteForShell(directory) === directory)
    if (mine.length === 0) return []
    const caution = mine.find(each => each.caution !== undefined)?.caution
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
 * What git's own files say of a project, read without running git: a repository that somebody else owns could have it start
 * programs. Undefined where the directory is in no checkout.
 */
async function readGitFacts(reader: ProjectReader, project: string): Promise<GitFacts | undefined> {
  for (let top = resolve(project); ; top = dirname(top)) {
    const folder = await gitFolder(reader, top)
    if (folder) return { top, ...(await defaultBranch(reader, folder)) }
    if (top === dirname(top)) return undefined
  }
}

interface GitFolder {
  /** Where this checkout's HEAD lies. */
  own: string
  /** Where the branches of all checkouts lie; the same unless this is a worktree. */
  common: string
}

async function gitFolder(reader: ProjectReader, top: string): Promise<GitFolder | undefined> {
  const entry = (await reader.list(top)).find(({ name }) => name === '.git')
  if (!entry) return undefined
  if (entry.kind === 'folder') {
    const folder = join(top, '.git')
    return (await textOf(reader, join(folder, 'HEAD'))) === undefined ? undefined : { own: folder, common: folder }
  }
  const pointer = /^gitdir: (.+)$/m.exec((await textOf(reader, join(top, '.git'))) ?? '')?.[1]
  if (pointer === undefined) return undefined
  const own = resolve(top, pointer.trim())
  const common = (await textOf(reader, join(own, 'commondir')))?.trim()
  return { own, common: common === undefined || common === '' ? own : resolve(own, common) }
}

/** What the remote calls its head; else `main` or `master` where there is one; else the branch that is checked out. */
async function defaultBranch(
  reader: ProjectReader,
  { own, common }: GitFolder,
): Promise<Pick<GitFacts, 'default_branch' | 'branch_from'>> {
  const remote = refIn(await textOf(reader, join(common, 'refs/remotes/origin/HEAD')), 'refs/remotes/origin/')
  if (remote !== undefined) return { default_branch: remote, branch_from: 'origin/HEAD' }
  const current = refIn(await textOf(reader, join(own, 'HEAD')), 'refs/heads/')
  const packed = (await textOf(reader, join(common, 'packed-refs'))) ?? ''
  for (const name of ['main', 'master']) {
    const isThere =
      current === name ||
      packed.includes(` refs/heads/${name}\n`) ||
      (await textOf(reader, join(common, 'refs/heads', name))) !== undefined
    if (isThere) return { default_branch: name, branch_from: 'its name' }
  }
  return current === undefined
    ? { default_branch: undefined, branch_from: undefined }
    : { default_branch: current, branch_from: 'the branch that is checked out' }
}

/** A name that git would take for a branch; `.invalid` stands where the branches are in another form than files. */
function refIn(text: string | undefined, prefix: string): string | undefined {
  const name = text?.startsWith(`ref: ${prefix}`) ? text.slice(`ref: ${prefix}`.length).trim() : ''
  return /^[\p{L}\p{N}_][\p{L}\p{N}._/+@#=-]{0,199}$/u.test(name) ? name : undefined
}

async function textOf(reader: ProjectReader, path: string): Promise<string | undefined> {
  const read = await reader.read(path)
  return read && 'text' in read ? read.text : undefined
}
