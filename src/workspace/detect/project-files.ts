import { constants } from 'node:fs'
import { open, readdir } from 'node:fs/promises'
import { resolve } from 'node:path'
import { parse as parseYaml } from 'yaml'
import { messageOf } from '../../base/errors.ts'
import { parseToml } from '../../base/toml.ts'
import type { FactProblem } from '../../domain/project-facts.ts'

/** How a project is looked at. Nothing is ever written, and nothing is read without a bound. */
export interface ProjectReader {
  /** The text of a file; `problem` says why there is none although the file is there. */
  read(path: string): Promise<ReadText>
  /** Names in a folder, sorted; none where it cannot be entered. */
  list(path: string): Promise<ProjectEntry[]>
}

export type ReadText = { text: string } | { problem: string } | undefined

export interface ProjectEntry {
  name: string
  /** Links are followed by nobody: one to a folder could lead anywhere, or round in a circle. */
  kind: 'file' | 'folder' | 'other'
}

/** A manifest that a person wrote is a few thousand bytes; the largest package.json files of the wild are below one million. */
const MOST_BYTES = 2_000_000

/** A pipe under the name of a manifest would otherwise keep us waiting for whoever writes into it. */
const AT_ONCE = constants.O_RDONLY | constants.O_NONBLOCK

/** Reads below one directory; an absolute path is taken as it is. */
export function openProjectReader(root: string, mostBytes = MOST_BYTES): ProjectReader {
  return {
    async read(path) {
      try {
        await using file = await open(resolve(root, path), AT_ONCE)
        const { size, isFile } = await file.stat().then(stat => ({ size: stat.size, isFile: stat.isFile() }))
        if (!isFile) return { problem: 'it is not a plain file' }
        if (size > mostBytes) return { problem: `it is larger than ${mostBytes / 1_000_000} MB, and was not read` }
        const bytes = Buffer.alloc(size)
        const { bytesRead } = await file.read(bytes, 0, size, 0)
        return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, bytesRead)) }
      } catch (thrown) {
        const { code } = thrown as NodeJS.ErrnoException
        if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
        return { problem: thrown instanceof TypeError ? 'it is not text in UTF-8' : messageOf(thrown) }
      }
    },
    async list(path) {
      const entries = await readdir(resolve(root, path), { withFileTypes: true }).catch(() => [])
      return entries
        .map(entry => ({ name: entry.name, kind: kindOf(entry) }))
        .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
    },
  }
}

function kindOf(entry: { isFile(): boolean; isDirectory(): boolean; isSymbolicLink(): boolean }): ProjectEntry['kind'] {
  if (entry.isDirectory()) return 'folder'
  // A link may be a manifest that several folders share; reading says when it is not a file.
  return entry.isFile() || entry.isSymbolicLink() ? 'file' : 'other'
}

/** One folder of a project and the names in it. */
interface WalkedFolder {
  /** Relative to the project; `.` is the project itself. */
  path: string
  depth: number
  files: string[]
  folders: string[]
}

export interface ProjectWalk {
  folders: WalkedFolder[]
  files: number
  isCut: boolean
}

/** What nobody wrote by hand in this project: dependencies, what is built, caches, other people's code. */
const NOT_OURS = new Set(
  `node_modules bower_components jspm_packages vendor third_party target build dist out obj coverage htmlcov venv env
   __pycache__ site-packages deps _build Pods DerivedData bazel-bin bazel-out worktrees`.split(/\s+/),
)

/** Folders whose manifests are material, not projects to work on. */
const MATERIAL = /(^|\/)(fixtures?|__fixtures__|testdata|test-data|examples?|samples?|templates?|snapshots?)(\/|$)/i

/** More than that says nothing new about which language a project is in. */
const MOST_FILES = 50_000
const MOST_FOLDERS = 5_000
const MOST_DEPTH = 12

/** Looks through a project, nearest folders first, so that what is cut is what lies deepest. */
export async function walkProject(
  reader: ProjectReader,
  most = { files: MOST_FILES, folders: MOST_FOLDERS },
): Promise<ProjectWalk> {
  const found: WalkedFolder[] = []
  const waiting = [{ path: '.', depth: 0 }]
  let files = 0
  let isCut = false
  for (let at = waiting.shift(); at; at = waiting.shift()) {
    if (found.length >= most.folders || files >= most.files) return { folders: found, files, isCut: true }
    const entries = await reader.list(at.path)
    const folder: WalkedFolder = { ...at, files: [], folders: [] }
    for (const { name, kind } of entries) {
      if (kind === 'file') folder.files.push(name)
      else if (kind === 'folder') folder.folders.push(name)
    }
    found.push(folder)
    files += folder.files.length
    for (const name of folder.folders.filter(isOurs)) {
      if (at.depth < MOST_DEPTH)
        waiting.push({ path: at.path === '.' ? name : `${at.path}/${name}`, depth: at.depth + 1 })
      else isCut = true
    }
  }
  return { folders: found, files, isCut }
}

/** Whether a manifest in this folder is one of the project's own. */
export function canBeUnit({ path, depth }: WalkedFolder): boolean {
  return depth <= 4 && !MATERIAL.test(path)
}

function isOurs(name: string): boolean {
  return !name.startsWith('.') && !NOT_OURS.has(name)
}

export type Table = Record<string, unknown>

/** One folder as an ecosystem looks at it. What is there and cannot be understood is told once and counts as empty. */
export interface Folder {
  path: string
  has(name: string): boolean
  /** The first of these names that is there. */
  first(names: readonly string[]): string | undefined
  /** Whether a name is there that ends or looks like this. */
  matching(pattern: RegExp): string[]
  hasFolder(name: string): boolean
  text(name: string): Promise<string | undefined>
  json(name: string): Promise<Table | undefined>
  toml(name: string): Promise<Table | undefined>
  yaml(name: string): Promise<Table | undefined>
}

/** Opens a folder that was walked over; problems are added to the list. */
export function openFolder(walked: WalkedFolder, reader: ProjectReader, problems: FactProblem[]): Folder {
  const files = new Set(walked.files)
  const at = (name: string) => (walked.path === '.' ? name : `${walked.path}/${name}`)
  const tell = (name: string, problem: string) => {
    if (!problems.some(each => each.file === at(name))) problems.push({ file: at(name), problem })
  }
  const text = async (name: string) => {
    if (!files.has(name)) return undefined
    const read = await reader.read(at(name))
    if (read === undefined) return undefined
    if ('text' in read) return read.text.replace(/^\ufeff/, '')
    tell(name, read.problem)
    return undefined
  }
  const parsed = async (name: string, parse: (text: string) => unknown): Promise<Table | undefined> => {
    const found = await text(name)
    if (found === undefined) return undefined
    try {
      const value = parse(found)
      if (isTable(value)) return value
      tell(name, 'it holds no table of names and values')
    } catch (thrown) {
      tell(name, (messageOf(thrown).split('\n')[0] ?? '').slice(0, 200))
    }
    return undefined
  }
  return {
    path: walked.path,
    has: name => files.has(name),
    first: names => names.find(name => files.has(name)),
    matching: pattern => walked.files.filter(name => pattern.test(name)),
    hasFolder: name => walked.folders.includes(name),
    text,
    json: name => parsed(name, JSON.parse),
    toml: name => parsed(name, tomlOrThrow),
    yaml: name => parsed(name, each => parseYaml(each, { maxAliasCount: 100, logLevel: 'error' })),
  }
}

/** A table inside a table; empty where there is none. */
export function tableIn(table: Table | undefined, ...path: string[]): Table {
  let at: unknown = table
  for (const name of path) at = isTable(at) && Object.hasOwn(at, name) ? at[name] : undefined
  return isTable(at) ? at : {}
}

/** The texts of a list; none where it is no list. */
export function textsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter(each => typeof each === 'string') : []
}

function tomlOrThrow(text: string): unknown {
  const parsed = parseToml(text)
  if (!parsed.ok) throw new Error(`line ${parsed.line}: ${parsed.problem}`)
  return parsed.table
}

function isTable(value: unknown): value is Table {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A skill that lies in a project. */
export interface ProjectSkill {
  name: string
  description: string
  /** Relative to the project. */
  path: string
  /** All of the file. */
  text: string
}

const SKILLS_FOLDER = '.claude/skills'
/** A list that an agent is to choose from. */
const MAX_SKILLS = 20

/** The skills that lie in a project, by name. One whose head cannot be read says nothing, and is left out. */
export async function readSkills(reader: ProjectReader): Promise<ProjectSkill[]> {
  const folders = (await reader.list(SKILLS_FOLDER)).filter(({ kind }) => kind === 'folder')
  const found: ProjectSkill[] = []
  for (const { name } of folders) {
    if (found.length === MAX_SKILLS) break
    const path = `${SKILLS_FOLDER}/${name}/SKILL.md`
    const read = await reader.read(path)
    const head = read && 'text' in read ? headOf(read.text) : undefined
    const description = head?.['description']
    if (!read || !('text' in read) || typeof description !== 'string') continue
    found.push({ name: typeof head?.['name'] === 'string' ? head['name'] : name, description, path, text: read.text })
  }
  return found
}

function headOf(text: string): Record<string, unknown> | undefined {
  const head = /^\ufeff?---[ \t]*\r?\n([\s\S]*?)\r?\n---/.exec(text)?.[1]
  try {
    const value: unknown = head === undefined ? undefined : parseYaml(head, { maxAliasCount: 100, logLevel: 'error' })
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined // as if it had none
  }
}
