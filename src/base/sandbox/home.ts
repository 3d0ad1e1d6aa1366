import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  unwatchFile,
  watchFile,
  writeFileSync,
} from 'node:fs'
import { rm } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { basename, isAbsolute, join } from 'node:path'
import type { AgentSettings } from '../env-files.ts'
import { readRegularFileNow, replaceEntry, replaceFile } from '../files.ts'
import { isInside } from '../is-inside.ts'
import { isObject, parseJson } from '../json.ts'
import { runShort, runShortSync, type ShortCommand } from '../process/run-short.ts'
import { holdsToken } from '../redact.ts'
import type { MovedFolder } from './bubblewrap.ts'
import { refuseLinks } from './mount-sources.ts'
import type { AgentFolder, SandboxSettings } from './settings.ts'

/** The folders that a sandbox has to itself while it exists. */
export interface Scratch extends AsyncDisposable {
  /** The folder of all of them; it is not in the sandbox itself. */
  root: string
  home: string
  tmp: string
  /** The folder of the agent. */
  agent: string
  /** What changes in package caches. */
  caches: string
}

/** Makes the folders of one sandbox. They are on the disk, so that filling them does not fill the memory. */
export function makeScratch(parent: string = tmpdir()): Scratch {
  mkdirSync(parent, { recursive: true, mode: 0o700 })
  const root = mkdtempSync(join(parent, 'pcc-box-'))
  const folder = (name: string) => {
    mkdirSync(join(root, name), { mode: 0o700 })
    return join(root, name)
  }
  return {
    ...{ root, home: folder('home'), tmp: folder('tmp'), agent: folder('agent'), caches: folder('caches') },
    // What runs in the sandbox is gone by now.
    [Symbol.asyncDispose]: () => removeTree(root),
  }
}

/** Removes what sandboxes of a killed daemon left. */
export async function clearScratch(parent: string): Promise<void> {
  await removeTree(parent)
}

/** Removes a folder that somebody else filled: closed to its owner, or deeper than a path may be long. Never throws. */
async function removeTree(folder: string): Promise<void> {
  try {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 })
  } catch {
    await runShort(removal(folder))
  }
}

/** The same, at once. */
export function removeTreeNow(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true })
  } catch {
    runShortSync(removal(folder))
  }
}

function removal(folder: string): ShortCommand {
  const script = 'chmod -R u+rwx -- "$1"; rm -rf -- "$1"'
  const run = { command: '/bin/sh', args: ['-c', script, 'sh', folder], cwd: '/', env: { PATH: '/usr/bin:/bin' } }
  return { ...run, timeoutMs: 60_000, maxBytes: 1_000_000 }
}

/** Lines of npm's settings that hold no login: where packages come from, and how to get there. */
const NPM_SETTING = /^\s*(@[\w.-]+:registry|registry|proxy|https-proxy|noproxy|cafile|strict-ssl|prefix)\s*=/
/** An address with a name or a password in it; that of `ssh` is no secret. */
const LOGIN_IN_ADDRESS = /(?<!ssh:)\/\/[^/\s"']*@/

/** Writes files of the person into the home of the sandbox, without the logins in them. */
export function copySettings(home: string, into: string): void {
  const settings = withoutNpmLogins(readText(join(home, '.npmrc')) ?? '')
  if (settings.trim() !== '') writeFileSync(join(into, '.npmrc'), settings, { mode: 0o600 })
}

function withoutNpmLogins(text: string): string {
  const lines = text.split('\n').filter(line => line === '' || (NPM_SETTING.test(line) && !LOGIN_IN_ADDRESS.test(line)))
  return lines.join('\n')
}

function withoutAddressLogins(text: string): string {
  const lines = text.split('\n').filter(line => !LOGIN_IN_ADDRESS.test(line))
  return lines.join('\n')
}

const GIT_SECTION = /^\s*\[[^\]"]*("(?:[^"\\]|\\.)*")?\s*\]/
const GIT_LOGIN =
  /^\s*[\w-]*(extraheader|password|passwd|smtppass|token|secret|cookie|api-?key)[\w-]*\s*=|^\s*([\w-]*-)?(pass|pwd|auth|key)\s*=|^\s*helper\s*=.*(pass|pwd|token|secret)|=\s*"?[^\s"':/@]+:[^\s"':@]+@/i

/** Settings of git without what is a login: a header, a password, or an address with one in it, also as the name of a section. */
function withoutGitLogins(text: string): string {
  const kept: string[] = []
  let [isSecret, isDropped, continues] = [false, false, false]
  for (const line of text.split('\n')) {
    const [section] = continues ? [] : (GIT_SECTION.exec(line) ?? [])
    if (section !== undefined) isSecret = LOGIN_IN_ADDRESS.test(section)
    const rest = line.slice(section?.length ?? 0)
    isDropped = continues
      ? isDropped
      : isSecret || GIT_LOGIN.test(rest) || LOGIN_IN_ADDRESS.test(rest) || holdsToken(rest)
    continues = /(^|[^\\])(\\\\)*\\$/.test(line)
    if (!isDropped) kept.push(line)
    else if (section !== undefined && !isSecret) kept.push(section)
  }
  return kept.join('\n')
}

/** Where tools keep versions of a language, each in a folder with settings for all who use it. */
const VERSIONS = [
  ...['.nvm/versions/node', '.volta/tools/image/node', '.asdf/installs/nodejs', '.local/share/mise/installs/node'],
  ...['.fnm/node-versions', '.local/share/fnm/node-versions', '.pyenv/versions', '.asdf/installs/python'],
  ...['.local/share/mise/installs/python'],
]
/** Tools that are repositories themselves, and their plugins. */
const REPOSITORIES = ['.nvm', '.pyenv', '.rbenv', '.asdf']
const PLUGINS = [
  '.asdf/plugins',
  '.pyenv/plugins',
  '.rbenv/plugins',
  '.local/share/mise/plugins',
  '.claude/plugins/marketplaces',
]

/**
 * Copies of files that are shown because they are among programs or are git's settings, without the logins in them; each takes the place of its
 * original. A file without any stays as it is.
 */
export function copiesWithoutLogins(home: string, gitSettings: readonly string[], into: string): MovedFolder[] {
  const inside = (folder: string) => listNames(join(home, folder)).map(name => join(home, folder, name))
  const versions = VERSIONS.flatMap(inside)
  const repositories = [...REPOSITORIES.map(name => join(home, name)), ...PLUGINS.flatMap(inside)]
  const ofNpm = versions.flatMap(folder => [join(folder, 'etc/npmrc'), join(folder, 'installation/etc/npmrc')])
  const files: [paths: string[], filter: (text: string) => string][] = [
    [ofNpm, withoutNpmLogins],
    [versions.map(folder => join(folder, 'pip.conf')), withoutAddressLogins],
    [[...repositories.map(folder => join(folder, '.git/config')), ...gitSettings], withoutGitLogins],
  ]
  const found = files.flatMap(([paths, filter]) => paths.map(path => ({ path, filter })))
  const copies = new Map<string, string>()
  for (const { path, filter } of found) {
    const text = readText(path)
    if (text !== undefined && filter(text) !== text) copies.set(realpathSync(path), filter(text))
  }
  return [...copies].map(([to, text], at) => {
    const from = join(into, `settings-${at}`)
    writeFileSync(from, text, { mode: 0o600 })
    return { from, to }
  })
}

function listNames(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return [] // there is none
  }
}

interface AgentHome {
  env: Record<string, string | undefined>
  home: string
  /** The folder in which the agent works, and the checkout that it belongs to. */
  projects: string[]
  scratch: Scratch
  /** What pcc keeps of this agent for the project. */
  kept: string
}

/** A copy that the agent has of a file of the person, and what of it is written back. */
export interface CopiedFile {
  file: string
  copy: string
  renewed: string[]
}

interface AgentFolderInside {
  /** The folder at its own path, and what is kept of it for the project. */
  replaced: MovedFolder[]
  copied: CopiedFile[]
  writable: string[]
  readOnly: string[]
  shown: string[]
}

/** Where an agent keeps its settings. */
export function agentSettings(
  { name, variable, below = '', copied }: AgentFolder,
  env: Record<string, string | undefined>,
  home: string = env['HOME'] || homedir(),
): AgentSettings {
  const moved = env[variable] ? join(env[variable], below) : undefined
  return { folder: moved ?? join(home, name), file: join(moved ?? home, copied?.name ?? '') }
}

/**
 * Where pcc keeps for one project what an agent would put beside that of others. Those who only read have a folder of their own: an agent
 * could leave something there that runs with the verifier of its work.
 */
export function keptFolder(
  agent: AgentFolder | undefined,
  {
    settings: { conversations },
    reading,
    scratch,
  }: { settings: Pick<SandboxSettings, 'conversations'>; reading: boolean; scratch: Pick<Scratch, 'root'> },
): string {
  const all = conversations ?? join(scratch.root, 'kept')
  return join(all, reading ? 'readers' : 'workers', basename(agent?.name ?? '').replace(/^\./, ''))
}

/** Prepares the folder of an agent: empty but for what it needs. Folders that stay are made if they are missing. */
export function prepareAgentFolder(
  agent: AgentFolder,
  { env, home, projects, scratch, kept: keptHere }: AgentHome,
): AgentFolderInside {
  const { variable, writable, readOnly, login, shown, copied, programsIn, copies = [], kept = [] } = agent
  const { folder, file: ofProjects } = agentSettings(agent, env, home)
  const inFolder = (names: string[]) => names.map(each => join(folder, each))
  // Before anything is made there: an earlier agent may have put a link in the place of one of them.
  refuseLinks(inFolder(readOnly), inFolder(writable))
  for (const each of ['', ...writable, ...readOnly]) mkdirSync(join(folder, each), { recursive: true, mode: 0o700 })
  if (copied) {
    const text = withoutOtherProjects(readText(ofProjects), copied, projects)
    const to = env[variable] ? scratch.agent : scratch.home
    if (text !== undefined) writeFileSync(join(to, copied.name), text, { mode: 0o600 })
  }
  for (const each of kept) mkdirSync(join(keptHere, each), { recursive: true, mode: 0o700 })
  const root = kept.includes('') ? keptHere : scratch.agent
  const real = realpathSync(folder)
  const own = [...copies, ...kept, ...shown, ...writable, ...login].map(path => path.split('/')[0])
  if (agent.linked)
    for (const name of listNames(folder))
      if (!own.includes(name) && isFolder(join(folder, name))) mkdirSync(join(root, name), { recursive: true })
  // An earlier agent may have put something else there.
  if (root === keptHere) for (const name of shown) if (isFolder(join(folder, name))) makeFolder(join(root, name))
  for (const name of copies) copyFile(join(folder, name), join(root, name))
  return {
    replaced: [
      { from: root, to: real },
      ...kept.filter(Boolean).map(name => ({ from: join(keptHere, name), to: join(real, name) })),
    ],
    copied: copies.map(name => ({
      ...{ file: join(folder, name), copy: join(root, name), renewed: agent.renewed ?? [] },
    })),
    writable: [...inFolder(writable), ...inFolder(login)],
    readOnly: inFolder(readOnly),
    shown: [
      ...inFolder(shown),
      ...programsIn.flatMap(({ file, keys }) =>
        namedFiles(readText(file === copied?.name ? ofProjects : join(folder, file)), keys, home),
      ),
    ],
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

function makeFolder(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false })?.isDirectory()) return
  rmSync(path, { force: true })
  mkdirSync(path, { mode: 0o700 })
}

const MOST_OF_COPY = 1_000_000

function readSmall(path: string): Buffer | undefined {
  return readRegularFileNow(path, MOST_OF_COPY, { follow: false })
}

/** In place of whatever is there: an earlier agent may have put a link or a folder there. No link is followed to what is hidden. */
function copyFile(file: string, copy: string): void {
  const content = readSmall(file)
  if (content === undefined || lstatSync(copy, { throwIfNoEntry: false })?.isDirectory()) removeTreeNow(copy)
  if (content !== undefined) replaceEntry(copy, content)
}

const LOOK_MS = 2_000

/**
 * Writes back what an agent renews in a copy, while it works: a token that was renewed makes the one before it useless, and the person may
 * need it. Only these fields of what was there before, and only where the person has not got a newer one meanwhile.
 */
export function watchCopy({ file, copy, renewed }: CopiedFile): Disposable {
  const read = (path: string) => parseJson(readSmall(path)?.toString('utf8') ?? '')
  let seen = read(copy)
  const bringBack = () => {
    const now = read(copy)
    if (now === undefined) return // it is being written
    const persons = read(file)
    const merged = renew(persons, { seen, now, renewed })
    seen = now
    if (JSON.stringify(merged) === JSON.stringify(persons)) return
    try {
      replaceFile(file, JSON.stringify(merged, undefined, 2))
    } catch {
      // The disk is full, or the folder closed to us: the person has to log in again.
    }
  }
  watchFile(copy, { interval: LOOK_MS, persistent: false }, bringBack)
  return {
    [Symbol.dispose]: () => {
      unwatchFile(copy, bringBack)
      bringBack()
    },
  }
}

function renew(persons: unknown, copy: { seen: unknown; now: unknown; renewed: string[] }): unknown {
  const { seen, now, renewed } = copy
  if (!isObject(persons) || !isObject(seen) || !isObject(now)) return persons
  const fields = renewed.filter(name => typeof persons[name] === 'string' || typeof persons[name] === 'number')
  const isTheirs = fields.every(name => persons[name] === seen[name] && typeof now[name] === typeof seen[name])
  const inner = Object.entries(persons).map(([name, value]) => [
    name,
    isTheirs && fields.includes(name) ? now[name] : renew(value, { seen: seen[name], now: now[name], renewed }),
  ])
  return Object.fromEntries(inner)
}

/** The file without what it says about other projects, and without servers that are not started. A file that is not JSON is of no use to the agent either. */
function withoutOtherProjects(
  text: string | undefined,
  { projects: key, without = [] }: NonNullable<AgentFolder['copied']>,
  projects: string[],
): string | undefined {
  const value = text === undefined ? undefined : parseJson(text)
  if (!isObject(value)) return undefined
  const strip = (object: object) =>
    Object.fromEntries(Object.entries(object).filter(([name]) => !without.includes(name)))
  const all = isObject(value[key]) ? Object.entries(value[key]) : []
  const around = all.filter(([path]) => projects.some(project => isInside(project, path)))
  const ofProjects = around.map(([path, each]) => [path, isObject(each) ? strip(each) : each])
  return JSON.stringify({ ...strip(value), ...(key in value && { [key]: Object.fromEntries(ofProjects) }) })
}

/** The files of the home directory that these parts of a JSON file name, in any of their texts. */
function namedFiles(text: string | undefined, keys: string[], home: string): string[] {
  const value = text === undefined ? undefined : parseJson(text)
  if (!isObject(value)) return []
  const words = keys.flatMap(key => textsIn(value[key])).flatMap(each => each.split(/[\s"'`$;|&<>()=]+/))
  const paths = words.map(word => word.replace(/^~(?=\/)/, home)).filter(word => isAbsolute(word))
  return paths.filter(path => isInside(path, home) && statSync(path, { throwIfNoEntry: false })?.isFile())
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : []
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined // there is none
  }
}
