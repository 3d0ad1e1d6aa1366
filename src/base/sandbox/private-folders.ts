import { lstatSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { Scratch } from './home.ts'
import type { AgentFolder, OwnFolders } from './settings.ts'

type FolderName = 'tmp' | 'home' | 'agent' | 'caches'

/** A file or folder, and what tells it apart from another one, or from itself before a change. */
interface Entry {
  folder: FolderName | 'memory'
  /** Below that folder; in memory, as seen inside. */
  path: string
  full: string
  identity: string
}

const NOTHING_OWN: OwnFolders = { agent: [], home: [], tmp: [], caches: [], runs: [], tells: [], ofTask: [] }
interface FolderOptions {
  /** The writable folders that are in memory, as a process sees them; by default the system says. */
  inMemory?: (pid: number) => string[]
}

/** More entries than this are not compared: a fresh sandbox costs less. */
const MOST_ENTRIES = 20_000

/**
 * The folders that a sandbox has to itself: its /tmp, its home directory, the agent's own folder, what changes in package caches, and those
 * in memory. They go with the sandbox. An agent that gets another task keeps its sandbox, so they must be as they were before its first
 * one: what was added to /tmp and to the home directory is removed. Any other change cannot be undone safely, and is named.
 *
 * Only to be used while nothing but the agent itself runs inside.
 */
export class PrivateFolders {
  readonly #scratch: Scratch
  readonly #own: OwnFolders
  readonly #inMemory: (pid: number) => string[]
  #before: Map<string, Entry> | undefined

  constructor(
    scratch: Scratch,
    folder: Pick<AgentFolder, 'own'> | undefined,
    { inMemory = mountsInMemory }: FolderOptions = {},
  ) {
    this.#scratch = scratch
    this.#own = folder?.own ?? NOTHING_OWN
    this.#inMemory = inMemory
  }

  /** Notes what is there before the first task. `pid` is a process inside. */
  remember(pid: number): void {
    this.#before ??= this.#list(pid)
  }

  /** Makes everything as it was before the first task, or says why that is not possible. */
  restore(pid: number): string | undefined {
    const before = this.#before
    const now = this.#list(pid)
    if (!before || !now) return 'the folders of its sandbox could not be compared'
    const changed = [...before].find(([key, entry]) => !this.#isOwn(entry) && now.get(key)?.identity !== entry.identity)
    if (changed) return `the task before has changed ${nameOf(changed[1])}`
    const added = [...now].filter(([key]) => !before.has(key)).map(([, entry]) => entry)
    const foreign = added.filter(entry => !this.#isOwn(entry) || this.#isOfTask(entry))
    const lasting = foreign.find(({ folder }) => folder !== 'tmp' && folder !== 'home')
    if (lasting) return `the task before has left ${nameOf(lasting)}`
    const used = [...now].find(([key, entry]) => this.#isRun(entry) && before.get(key)?.identity !== entry.identity)
    if (used) return `the task before may have changed ${nameOf(used[1])}, with which every command begins`
    return removeAll(foreign)
  }

  /** Whether the agent writes there by itself. */
  #isOwn({ folder, path }: Entry): boolean {
    if (folder === 'memory' || (folder === 'agent' && this.#own.tells.some(part => path.includes(part)))) return false
    return this.#own[folder].some(own => path.startsWith(own) || own.startsWith(`${path}/`))
  }

  /** Whether the agent wrote this for the conversation that is over. */
  #isOfTask({ folder, path }: Entry): boolean {
    return folder === 'tmp' && path.includes('/') && this.#own.ofTask.some(own => path.startsWith(own))
  }

  /** Whether the agent writes this file once, and runs it: nobody can tell its words from what the task has written there. */
  #isRun({ folder, path }: Entry): boolean {
    return folder === 'agent' && this.#own.runs.some(own => path !== own && path.startsWith(own))
  }

  /** Everything in these folders; undefined if there is too much, or something cannot be read. */
  #list(pid: number): Map<string, Entry> | undefined {
    const { tmp, home, agent, caches } = this.#scratch
    const entries = new Map<string, Entry>()
    const walk = (name: Entry['folder'], root: string, base = root) => {
      const { dev } = lstatSync(root)
      for (const open = [root]; open.length > 0; ) {
        const at = open.pop() ?? root
        for (const entry of namesIn(at)) {
          if (entries.size > MOST_ENTRIES) throw new Error('too many entries')
          const full = join(at, entry)
          const stats = lstatSync(full, { bigint: true, throwIfNoEntry: false })
          if (!stats) continue
          const path = relative(base, full)
          // A folder changes with what is added to it.
          const identity = stats.isDirectory() ? `folder ${stats.ino}` : `${stats.mode} ${stats.ino} ${stats.ctimeNs}`
          entries.set(`${name} ${path}`, { folder: name, path, full, identity })
          if (stats.isDirectory() && stats.dev === BigInt(dev)) open.push(full)
        }
      }
    }
    try {
      for (const [name, path] of Object.entries({ tmp, home, agent, caches })) walk(name as FolderName, path)
      const inside = `/proc/${pid}/root`
      for (const mount of this.#inMemory(pid)) walk('memory', join(inside, mount), inside)
      return entries
    } catch {
      return undefined // something is closed to us: then nothing is known
    }
  }
}

/** The agent may remove a folder of its own meanwhile. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

/** The writable folders that are in memory, as a process sees them. */
function mountsInMemory(pid: number): string[] {
  return readMountsInMemory(readFileSync(`/proc/${pid}/mountinfo`, 'utf8'))
}

/** The same, from what the system says about the mounts of a process. */
export function readMountsInMemory(mountinfo: string): string[] {
  const mounts = mountinfo.split('\n').map(readMount)
  const all = mounts.filter(mount => mount !== undefined)
  // A later mount at the same path covers an earlier one.
  return [...new Map(all.map(mount => [mount.at, mount])).values()].filter(isInMemory).map(({ at }) => at)
}

interface Mount {
  /** What of the file system is mounted. */
  root: string
  at: string
  options: string
  type: string
}

/** Reads a line of mountinfo: numbers, the root, the mount point, its options, tags up to a dash, the type. */
function readMount(line: string): Mount | undefined {
  const [, root, at, options, type] = /^\d+ \d+ \S+ (\S+) (\S+) (\S+) .*?- (\S+) /.exec(line) ?? []
  if (root === undefined || at === undefined || options === undefined || type === undefined) return undefined
  return {
    root,
    at: at.replace(/\\(\d{3})/g, (_, octal) => String.fromCharCode(Number.parseInt(octal, 8))),
    options,
    type,
  }
}

/** A part of another file system in memory is a folder of the machine, such as a project below a /tmp that is in memory. */
function isInMemory({ root, type, options }: Mount): boolean {
  return type === 'tmpfs' && root === '/' && options.split(',').includes('rw')
}

function removeAll(entries: Entry[]): string | undefined {
  for (const { full } of entries) {
    try {
      rmSync(full, { recursive: true, force: true })
    } catch {
      return 'what the task before has left in its sandbox could not be removed'
    }
  }
  return undefined
}

function nameOf({ folder, path }: Entry): string {
  return folder === 'memory' ? `/${path}` : `${path} in ${FOLDERS[folder]}`
}

const FOLDERS: Record<FolderName, string> = {
  tmp: 'its /tmp',
  home: 'its home directory',
  agent: "the agent's own folder",
  caches: 'the package caches',
}
