import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { rm } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import type { AgentSettings } from '../env-files.ts'
import { isInside } from '../is-inside.ts'
import { isObject, parseJson } from '../json.ts'
import { runShort, runShortSync, type ShortCommand } from '../process/run-short.ts'
import { holdsToken } from '../redact.ts'
import type { MovedFolder } from './bubblewrap.ts'
import type { AgentFolder } from './settings.ts'

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
  /^\s*\w*(extraheader|password|passwd|smtppass|token|secret)\w*\s*=|^\s*helper\s*=.*(pass|token|secret)/i

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
}

interface AgentFolderInside {
  /** The folder at its own path. */
  replaced: MovedFolder
  writable: string[]
  readOnly: string[]
  shown: string[]
}

/** Where an agent keeps its settings. */
export function agentSettings(
  { name, variable, copied }: AgentFolder,
  env: Record<string, string | undefined>,
  home: string = env['HOME'] || homedir(),
): AgentSettings {
  const moved = env[variable] || undefined
  return { folder: moved ?? join(home, name), file: join(moved ?? home, copied?.name ?? '') }
}

/** Prepares the folder of an agent: empty but for what it needs. Folders that stay are made if they are missing. */
export function prepareAgentFolder(agent: AgentFolder, { env, home, projects, scratch }: AgentHome): AgentFolderInside {
  const { variable, writable, readOnly, login, shown, copied, programsIn } = agent
  const { folder, file: ofProjects } = agentSettings(agent, env, home)
  for (const each of ['', ...writable, ...readOnly]) mkdirSync(join(folder, each), { recursive: true, mode: 0o700 })
  if (copied) {
    const text = withoutOtherProjects(readText(ofProjects), copied, projects)
    const to = env[variable] ? scratch.agent : scratch.home
    if (text !== undefined) writeFileSync(join(to, copied.name), text, { mode: 0o600 })
  }
  const inFolder = (names: string[]) => names.map(each => join(folder, each))
  return {
    replaced: { from: scratch.agent, to: folder },
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
