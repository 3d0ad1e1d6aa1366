import { constants, realpathSync } from 'node:fs'
import { open, readdir } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative } from 'node:path'
import { messageOf } from '../../base/errors.ts'
import { isObject } from '../../base/json.ts'
import { openFolderBelow } from '../../base/real-folder.ts'
import { parseToml } from '../../base/toml.ts'
import type { FactProblem } from '../../domain/project-facts.ts'

/** Reads a project. Nothing is ever written, and every read has a limit. */
export interface ProjectReader {
  /** The text of a file; `problem` says why there is none although the file exists. */
  read(path: string): Promise<ReadText>
  /** The entries of a folder, sorted by name; none where it cannot be read. */
  list(path: string): Promise<ProjectEntry[]>
}

export type ReadText = { text: string } | { problem: string } | undefined

export interface ProjectEntry {
  name: string
  /** Links to folders are not followed: one could lead anywhere, or into a cycle. */
  kind: 'file' | 'folder' | 'other'
}

/** A manifest that a person wrote has a few thousand bytes; the largest known package.json files have less than one million. */
const MOST_BYTES = 2_000_000

/** Without O_NONBLOCK, opening a pipe with the name of a manifest would wait for a writer. */
const READ_NONBLOCKING = constants.O_RDONLY | constants.O_NONBLOCK

/** Opens a reader for one directory; an absolute path is used as it is. */
export function openProjectReader(root: string, mostBytes = MOST_BYTES): ProjectReader {
  return {
    async read(path) {
      try {
        using place = isAbsolute(path) ? AS_GIVEN : holdFolderOf(root, path)
        if (!place) return { problem: 'it is a link that leads out of the project' }
        await using file = await open(place.at(path), READ_NONBLOCKING)
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
      const entries = await listBelow(root, path).catch(() => [])
      return entries
        .map(entry => ({ name: entry.name, kind: kindOf(entry) }))
        .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
    },
  }
}

const AS_GIVEN = { at: (path: string) => path, [Symbol.dispose]: () => {} }

/**
 * Holds the folder of a file open, so that it stays below `root` also if an agent puts a link into its way. Undefined if its path leads out:
 * a linked skill would show an agent files of the person.
 */
function holdFolderOf(root: string, path: string): ({ at(path: string): string } & Disposable) | undefined {
  const real = relative(realpathSync(root), realpathSync(join(root, path)))
  if (real === '..' || real.startsWith('../')) return undefined
  const folder = openFolderBelow(root, dirname(real))
  return folder && { at: () => folder.at(basename(real)), [Symbol.dispose]: () => folder[Symbol.dispose]() }
}

async function listBelow(root: string, path: string) {
  if (isAbsolute(path)) return readdir(path, { withFileTypes: true })
  using folder = openFolderBelow(root, path)
  return folder ? await readdir(folder.at('.'), { withFileTypes: true }) : []
}

function kindOf(entry: { isFile(): boolean; isDirectory(): boolean; isSymbolicLink(): boolean }): ProjectEntry['kind'] {
  if (entry.isDirectory()) return 'folder'
  // A link may be a manifest that several folders share; reading it reports when it is not a file.
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

/** Folders that nobody wrote by hand in this project: dependencies, build output, caches, other people's code. */
const NOT_OURS = new Set(
  `node_modules bower_components jspm_packages vendor third_party target build dist out obj coverage htmlcov venv env
   __pycache__ site-packages deps _build Pods DerivedData bazel-bin bazel-out worktrees`.split(/\s+/),
)

/** Folders whose manifests are fixtures or examples, not projects to work on. */
const FIXTURES = /(^|\/)(fixtures?|__fixtures__|testdata|test-data|examples?|samples?|templates?|snapshots?)(\/|$)/i

/** More files say nothing new about the languages of a project. */
const MOST_FILES = 50_000
const MOST_FOLDERS = 5_000
const MOST_DEPTH = 12

/** Walks through a project, top folders first, so that the deepest ones are left out where the limit is reached. */
export async function walkProject(
  reader: ProjectReader,
  most = { files: MOST_FILES, folders: MOST_FOLDERS },
): Promise<ProjectWalk> {
  const folders: WalkedFolder[] = []
  const waiting = [{ path: '.', depth: 0 }]
  let files = 0
  let isCut = false
  for (let at = waiting.shift(); at; at = waiting.shift()) {
    if (folders.length >= most.folders || files >= most.files) return { folders, files, isCut: true }
    const entries = await reader.list(at.path)
    const folder: WalkedFolder = { ...at, files: [], folders: [] }
    for (const { name, kind } of entries) {
      if (kind === 'file') folder.files.push(name)
      else if (kind === 'folder') folder.folders.push(name)
    }
    folders.push(folder)
    files += folder.files.length
    for (const name of folder.folders.filter(isOurs)) {
      if (at.depth < MOST_DEPTH)
        waiting.push({ path: at.path === '.' ? name : `${at.path}/${name}`, depth: at.depth + 1 })
      else isCut = true
    }
  }
  return { folders, files, isCut }
}

/** Whether a manifest in this folder belongs to the project itself. */
export function canBeUnit({ path, depth }: WalkedFolder): boolean {
  return depth <= 4 && !FIXTURES.test(path)
}

function isOurs(name: string): boolean {
  return !name.startsWith('.') && !NOT_OURS.has(name)
}

export type Table = Record<string, unknown>

/** One folder as an ecosystem sees it. A file that cannot be parsed is reported once and counts as empty. */
export interface Folder {
  path: string
  has(name: string): boolean
  /** The first of these names that exists. */
  first(names: readonly string[]): string | undefined
  /** The file names that match. */
  matching(pattern: RegExp): string[]
  hasFolder(name: string): boolean
  text(name: string): Promise<string | undefined>
  json(name: string): Promise<Table | undefined>
  toml(name: string): Promise<Table | undefined>
  yaml(name: string): Promise<Table | undefined>
}

/** Opens a folder of the walk; problems are added to the list. */
export function openFolder(walked: WalkedFolder, reader: ProjectReader, problems: FactProblem[]): Folder {
  const files = new Set(walked.files)
  const at = (name: string) => (walked.path === '.' ? name : `${walked.path}/${name}`)
  const report = (name: string, problem: string) => {
    if (!problems.some(({ file }) => file === at(name))) problems.push({ file: at(name), problem })
  }
  const text = async (name: string) => {
    if (!files.has(name)) return undefined
    const read = await reader.read(at(name))
    if (read === undefined) return undefined
    if ('text' in read) return read.text.replace(/^\ufeff/, '')
    report(name, read.problem)
    return undefined
  }
  const parsed = async (name: string, parse: (text: string) => unknown): Promise<Table | undefined> => {
    const source = await text(name)
    if (source === undefined) return undefined
    try {
      const value = parse(source)
      if (isObject(value)) return value
      report(name, 'it holds no table of names and values')
    } catch (thrown) {
      report(name, (messageOf(thrown).split('\n')[0] ?? '').slice(0, 200))
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
    async yaml(name) {
      if (!files.has(name)) return undefined
      const { parse } = await importYaml()
      return parsed(name, source => parse(source, YAML_OPTIONS))
    },
  }
}

/** Imported on use: few projects have such a file, and commands for which a person waits look at a project. */
function importYaml() {
  return import('yaml')
}

const YAML_OPTIONS = { maxAliasCount: 100, logLevel: 'error' } as const

/** A table inside a table; empty if there is none. */
export function tableIn(table: Table | undefined, ...path: string[]): Table {
  let at: unknown = table
  for (const name of path) at = isObject(at) && Object.hasOwn(at, name) ? at[name] : undefined
  return isObject(at) ? at : {}
}

/** The strings of a list; none where the value is not a list. */
export function textsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter(item => typeof item === 'string') : []
}

function tomlOrThrow(text: string): unknown {
  const parsed = parseToml(text)
  if (!parsed.ok) throw new Error(`line ${parsed.line}: ${parsed.problem}`)
  return parsed.table
}

/** A skill of a project. */
export interface ProjectSkill {
  name: string
  description: string
  /** Relative to the project. */
  path: string
  /** The whole file. */
  text: string
}

const SKILLS_FOLDER = '.claude/skills'
/** How many skills are listed, since an agent has to choose from them. */
const MAX_SKILLS = 20

/** The skills of a project, by name. A skill whose front matter cannot be read is left out. */
export async function readSkills(reader: ProjectReader): Promise<ProjectSkill[]> {
  const folders = (await reader.list(SKILLS_FOLDER)).filter(({ kind }) => kind === 'folder')
  const skills: ProjectSkill[] = []
  for (const { name } of folders) {
    if (skills.length === MAX_SKILLS) break
    const path = `${SKILLS_FOLDER}/${name}/SKILL.md`
    const read = await reader.read(path)
    const head = read && 'text' in read ? await parseFrontMatter(read.text) : undefined
    const description = head?.['description']
    if (!read || !('text' in read) || typeof description !== 'string') continue
    skills.push({ name: typeof head?.['name'] === 'string' ? head['name'] : name, description, path, text: read.text })
  }
  return skills
}

async function parseFrontMatter(text: string): Promise<Record<string, unknown> | undefined> {
  const head = /^\ufeff?---[ \t]*\r?\n([\s\S]*?)\r?\n---/.exec(text)?.[1]
  try {
    const value: unknown = head === undefined ? undefined : (await importYaml()).parse(head, YAML_OPTIONS)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined // counts as no front matter
  }
}
