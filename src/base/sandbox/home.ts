import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { isInside } from '../is-inside.ts'
import { isObject, parseJson } from '../json.ts'
import { runShort, runShortSync, type ShortCommand } from '../process/run-short.ts'
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

/** Writes files of the person into the home of the sandbox, without the logins in them. */
export function copySettings(home: string, into: string): void {
  const settings = readText(join(home, '.npmrc'))
  const lines = settings?.split('\n').filter(line => NPM_SETTING.test(line) && !/\/\/[^/\s]*@/.test(line))
  if (lines?.length) writeFileSync(join(into, '.npmrc'), `${lines.join('\n')}\n`, { mode: 0o600 })
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

/** Prepares the folder of an agent: empty but for what it needs. Folders that stay are made if they are missing. */
export function prepareAgentFolder(
  { name, variable, writable, readOnly, login, shown, copied, programsIn }: AgentFolder,
  { env, home, projects, scratch }: AgentHome,
): AgentFolderInside {
  const moved = env[variable] || undefined
  const folder = moved ?? join(home, name)
  // Where the copied file is.
  const beside = moved === undefined ? home : folder
  for (const each of ['', ...writable, ...readOnly]) mkdirSync(join(folder, each), { recursive: true, mode: 0o700 })
  if (copied) {
    const text = withoutOtherProjects(readText(join(beside, copied.name)), copied.projects, projects)
    const to = moved === undefined ? scratch.home : scratch.agent
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
        namedFiles(readText(join(file === copied?.name ? beside : folder, file)), keys, home),
      ),
    ],
  }
}

/** The file without what it says about other projects. A file that is not JSON is of no use to the agent either. */
function withoutOtherProjects(text: string | undefined, key: string, projects: string[]): string | undefined {
  const value = text === undefined ? undefined : parseJson(text)
  if (!isObject(value)) return undefined
  const all = value[key]
  if (!isObject(all)) return text
  const around = Object.entries(all).filter(([path]) => projects.some(project => isInside(project, path)))
  return JSON.stringify({ ...value, [key]: Object.fromEntries(around) })
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
