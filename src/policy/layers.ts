import { readdir, realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { AppPaths } from '../base/app-paths.ts'
import { AppError, messageOf } from '../base/errors.ts'
import { readRegularFile } from '../base/files.ts'
import { isInside } from '../base/is-inside.ts'
import { lookUp } from '../base/is-there.ts'
import { isObject } from '../base/json.ts'
import { parseToml } from '../base/toml.ts'
import { findInProject, parseRules } from './verdict/rules-file.ts'

/**
 * Files that a person or a project lays over the defaults: `policies/*.toml` (rules), `profiles/<role>.toml` (presets of a role) and
 * `tools/<tool>/…` (what differs for one agent). They are in the home of pcc and in `.perpetualcc` of a project. A project's counts only
 * after `pcc trust`, and then before the person's own; policies of both count together.
 */
export const LAYER_KINDS = ['policies', 'profiles', 'tools'] as const
export type LayerKind = (typeof LAYER_KINDS)[number]

export interface LayerFile {
  kind: LayerKind
  /** `night.toml`, `conductor`, `claude/hooks.toml` */
  name: string
  layer: 'project' | 'global'
  path: string
  /** `counts`, or why it does not: another one is before it, nobody agreed to it, or it cannot be used. */
  state: 'counts' | 'hidden' | 'untrusted' | 'refused'
  problem?: string
}

export interface LayerOptions {
  paths: Pick<AppPaths, 'home'>
  /** Without a project only the person's own count. */
  project?: string | undefined
  /** Whether a person has agreed to a project's file as it is, for example `trustedFile(status)`. */
  trusted?: ((file: { path: string; content: string }) => boolean) | undefined
}

/** Every file of all layers and whether it counts, in the order in which they are looked at. */
export async function listLayers(options: LayerOptions): Promise<LayerFile[]> {
  const all = await Promise.all(LAYER_KINDS.map(kind => listKind(kind, options)))
  return all.flat().map(({ content, ...file }) => file)
}

/** A file of a project with the content that was judged: an agent may write another one the moment after. */
type JudgedFile = LayerFile & { content?: string }

async function listKind(kind: LayerKind, { paths, project, trusted }: LayerOptions): Promise<JudgedFile[]> {
  const folder = project === undefined ? undefined : await findInProject(paths, project, kind)
  const own = await filesIn(join(paths.home, kind), kind)
  const theirs = folder === undefined ? [] : await filesIn(folder, kind)
  const files: JudgedFile[] = []
  for (const path of theirs) {
    const file = { kind, name: nameOf(path, folder ?? '', kind), layer: 'project' as const, path }
    files.push({ ...file, ...(await judge(file, dirname(dirname(folder ?? '')), trusted)) })
  }
  for (const path of own) {
    const name = nameOf(path, join(paths.home, kind), kind)
    const isHidden = kind !== 'policies' && files.some(file => file.name === name && file.state === 'counts')
    files.push({ kind, name, layer: 'global', path, state: isHidden ? 'hidden' : 'counts' })
  }
  return files
}

async function judge(
  { kind, path }: Pick<LayerFile, 'kind' | 'path'>,
  within: string,
  trusted: LayerOptions['trusted'],
): Promise<Pick<JudgedFile, 'state' | 'problem' | 'content'>> {
  try {
    const [real, fence] = await Promise.all([realpath(path), realpath(within)])
    if (!isInside(real, fence)) return { state: 'refused', problem: `it leads out of the project, to ${real}` }
    const content = await readLayer(path)
    // Rules that ask or deny need no agreement.
    const isStrict = kind === 'policies' && parseRules(path, content).every(({ rule }) => rule.effect !== 'allow')
    return { state: isStrict || trusted?.({ path, content }) === true ? 'counts' : 'untrusted', content }
  } catch (thrown) {
    return { state: 'refused', problem: messageOf(thrown) }
  }
}

/** Far more than a person writes into such a file. */
const MAX_BYTES = 1_000_000

async function readLayer(path: string): Promise<string> {
  return (await readRegularFile(path, MAX_BYTES)).toString('utf8')
}

/** The files of one kind below a folder, sorted: `*.toml`, and for tools everything in the folder of each. Links are followed. */
export async function filesIn(folder: string, kind: LayerKind): Promise<string[]> {
  const paths = (await namesIn(folder)).map(name => join(folder, name))
  if (kind !== 'tools') return paths.filter(path => path.endsWith('.toml'))
  const all = await Promise.all(
    paths.map(async tool => (isFolder(tool) ? (await namesIn(tool)).map(name => join(tool, name)) : [])),
  )
  return all.flat()
}

async function namesIn(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => [])
  return names.filter(name => !name.startsWith('.')).sort()
}

function isFolder(path: string): boolean {
  return lookUp(path)?.isDirectory() === true
}

function nameOf(path: string, folder: string, kind: LayerKind): string {
  const name = path.slice(folder.length + 1)
  return kind === 'profiles' ? name.replace(/\.toml$/, '') : name
}

/** The preset of a role: text for its agents, and after how many calls of its own a conductor is warned and held. */
export interface RoleProfile {
  text?: string
  warn?: number
  block?: number
}

/** What one agent's hooks do differently. */
export interface ToolOverride {
  /** Events for which no hook is installed; never one that decides about calls. */
  skip: string[]
  /** Seconds by event. */
  timeouts: Record<string, number>
}

/** The preset of a role that counts here; undefined if there is none. */
export async function loadProfile(role: string, options: LayerOptions): Promise<RoleProfile | undefined> {
  const found = await readTable('profiles', role, options)
  if (!found) return undefined
  const { table, refuse } = found
  const { text, delegation = {}, ...others } = table
  const { warn, block, ...more } = (
    isObject(delegation) ? delegation : refuse('delegation', 'it must be a table')
  ) as Table
  const [unknown] = [...Object.keys(others), ...Object.keys(more)]
  if (unknown !== undefined) return refuse(unknown, 'unknown key')
  if (text !== undefined && typeof text !== 'string') return refuse('text', 'it must be a text')
  for (const [key, value] of Object.entries({ warn, block }))
    if (value !== undefined && !isCount(value)) return refuse(key, 'it must be a whole number, 1 or more')
  return {
    ...(text !== undefined && { text }),
    ...(warn !== undefined && { warn: Number(warn) }),
    ...(block !== undefined && { block: Number(block) }),
  }
}

/** What counts of `tools/<tool>/hooks.toml`. */
export async function loadToolOverride(tool: string, options: LayerOptions): Promise<ToolOverride> {
  const found = await readTable('tools', `${tool}/hooks.toml`, options)
  if (!found) return { skip: [], timeouts: {} }
  const { table, refuse } = found
  const { skip = [], timeouts = {}, ...others } = table
  const [unknown] = Object.keys(others)
  if (unknown !== undefined) return refuse(unknown, 'unknown key')
  if (!Array.isArray(skip) || !skip.every(name => typeof name === 'string'))
    return refuse('skip', 'it must be a list of events')
  if (!isObject(timeouts) || !Object.values(timeouts).every(isCount))
    return refuse('timeouts', 'it must be seconds by event')
  return { skip: skip as string[], timeouts: { ...(timeouts as Record<string, number>) } }
}

type Table = Record<string, unknown>

interface FoundTable {
  table: Table
  refuse(key: string, problem: string): never
}

async function readTable(kind: LayerKind, name: string, options: LayerOptions): Promise<FoundTable | undefined> {
  const file = (await listKind(kind, options)).find(each => each.name === name && each.state === 'counts')
  if (!file) return undefined
  const parsed = parseToml(file.content ?? (await readLayer(file.path)))
  const refuse = (line: number, key: string, problem: string) =>
    new AppError('config_invalid', { file: file.path, line, key, problem })
  if (!parsed.ok) throw refuse(parsed.line, name, parsed.problem)
  return {
    table: parsed.table,
    refuse: (key, problem) => {
      throw refuse(1, key, problem)
    },
  }
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 1
}
