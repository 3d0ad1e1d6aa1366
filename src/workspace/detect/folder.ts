import { parse as parseYaml } from 'yaml'
import { messageOf } from '../../base/errors.ts'
import { parseToml } from '../../base/toml/parse.ts'
import type { FactProblem } from '../../domain/project/project-facts.ts'
import type { Reader } from './reader.ts'
import type { WalkedFolder } from './walk.ts'

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
export function openFolder(walked: WalkedFolder, reader: Reader, problems: FactProblem[]): Folder {
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
