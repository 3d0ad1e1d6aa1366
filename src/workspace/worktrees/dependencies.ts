import { createHash, randomUUID } from 'node:crypto'
import { constants, existsSync } from 'node:fs'
import { lstat, opendir, readdir, rename, statfs } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { readRegularFile } from '../../base/files.ts'
import { openGuard } from '../../base/process/guardian.ts'
import { copyInside, openRealFolder, type PathBelow, removeInside } from '../../base/real-folder.ts'
import { INSTALLED } from '../../domain/package-managers.ts'
import type { WorktreeRow } from '../../domain/worktree.ts'
import type { CommandCaps } from '../command/command-caps.ts'
import type { OpenCommandSandbox } from '../command/plan-sandbox.ts'
import { type CommandOutcome, commandEnvironment, runCommand } from '../command/run-command.ts'
import { readIndexMarks } from '../git/checkout-state.ts'
import { git } from '../git/git.ts'
import { type NotedDependencies, writeNote } from './worktree-note.ts'

/**
 * Directories that programs fill and git ignores. A Python virtual environment is not among them: it contains its own path, so
 * that installing into a copy would install into the person's original.
 */
const USUAL_FOLDERS = ['node_modules', 'vendor', 'target']

/** The limits of a plain copy: beyond them the set-up command is quicker. */
const MOST_BYTES = 300_000_000
const MOST_FILES = 40_000
/** The limit of a copy on write: where the file system shares the bytes, only the number of files takes time. */
const MOST_SHARED_FILES = 400_000

/**
 * Gives a worktree the project's dependency directories: a copy on write where the file system can do that, else a plain copy if
 * it is small. Never a link: an agent that installs something would change what the person works with. Returns what was done, in
 * words, and which folders were copied.
 */
export async function copyDependencies(
  row: WorktreeRow,
  named: readonly string[],
  signal: AbortSignal,
): Promise<{ reports: string[]; copied: string[] }> {
  const reports: string[] = []
  const copied: string[] = []
  for (const name of named.length > 0 ? named : USUAL_FOLDERS) {
    const [from, to] = [{ root: row.project, path: name }, join(row.directory, name)]
    const exists = (await lstat(join(row.project, name)).catch(() => undefined))?.isDirectory()
    // A folder that is part of the repository is there already, and so is one that an earlier try has copied.
    if (!exists || (await lstat(to).catch(() => undefined))) continue
    const inside = relative(row.top, to)
    const done = await copyDependencyFolder(inside, { from, top: row.top, signal, name })
    reports.push(done.report)
    if (done.isCopied) copied.push(name)
  }
  return { reports, copied }
}

/** Copies one dependency folder to a path in the worktree where nothing is yet. No link of the project or of the worktree is followed. */
export async function copyDependencyFolder(
  path: string,
  copy: { from: PathBelow; top: string; signal: AbortSignal; name?: string },
): Promise<{ report: string; isCopied: boolean }> {
  const { from, top, signal, name = path } = copy
  const report = (text: string) => ({ report: `${name} ${text}`, isCopied: false })
  await using parent = await openRealFolder(top, dirname(path), { make: true })
  if (!parent) return report('could not be copied (a folder above it is a link)')
  const folder = join(from.root, from.path)
  const isShared = await canShare(folder, { root: top, path: dirname(path) })
  const size = await measureFolder(
    folder,
    isShared ? { files: MOST_SHARED_FILES } : { files: MOST_FILES, bytes: MOST_BYTES },
  )
  if (!size) return report('is too large to be copied: let worktrees.setup make it')
  // The copy gets its name when it is complete: half a copy would pass for a whole one.
  const aside = `${path}.pcc-copying`
  const removeAside = () => removeInside(top, aside)
  try {
    await removeAside()
    if (!(await copyInside(from, { root: top, path: aside }, { signal, mode: constants.COPYFILE_FICLONE })))
      return report('could not be copied (a folder above it is a link)')
    await rename(parent.at(basename(aside)), parent.at(basename(path)))
    return { report: `${name} ${isShared ? 'copied on write' : 'copied'} (${size.files} files)`, isCopied: true }
  } catch (thrown) {
    await removeAside()
    return report(`could not be copied (${signal.aborted ? 'it took too long' : (thrown as Error).message})`)
  }
}

/** Whether the file system can copy on write: tried with a file of the directory itself, which may be on another disk. */
async function canShare(folder: string, to: PathBelow): Promise<boolean> {
  const sample = await findFirstFile(folder)
  if (sample === undefined) return false
  const probe = { root: to.root, path: join(to.path, `.${randomUUID()}.pcc-probe`) }
  try {
    return await copyInside({ root: folder, path: sample }, probe, { mode: constants.COPYFILE_FICLONE_FORCE })
  } catch {
    return false // the file system cannot, or the two are on different ones
  } finally {
    await removeInside(probe.root, probe.path)
  }
}

async function findFirstFile(folder: string): Promise<string | undefined> {
  for await (const entry of await opendir(folder, { recursive: true })) {
    if (entry.isFile()) return relative(folder, join(entry.parentPath, entry.name))
  }
  return undefined
}

/** How much the folder holds; undefined as soon as it exceeds `most`. */
async function measureFolder(
  folder: string,
  most: { files: number; bytes?: number },
): Promise<{ files: number; bytes: number } | undefined> {
  const size = { files: 0, bytes: 0 }
  for await (const entry of await opendir(folder, { recursive: true, bufferSize: 256 })) {
    if (!entry.isFile()) continue
    size.files += 1
    if (most.bytes !== undefined) size.bytes += (await lstat(join(entry.parentPath, entry.name))).size
    if (size.files > most.files || size.bytes > (most.bytes ?? Number.POSITIVE_INFINITY)) return undefined
  }
  return size
}

export interface SetupCommand {
  command: string
  directory: string
  env: Record<string, string | undefined>
  timeoutMs: number
  /** Without a signal, only the timeout ends the command. */
  signal?: AbortSignal | undefined
  sandbox?: OpenCommandSandbox | undefined
  caps?: CommandCaps | undefined
}

/** Runs the command that sets up a fresh worktree, the way gate commands are run, and returns the outcome in words. */
export async function runSetupCommand({
  command,
  env,
  signal = new AbortController().signal,
  sandbox,
  caps,
  ...run
}: SetupCommand): Promise<{ report: string; ok: boolean }> {
  const outcome = await runCommand(
    { command, env: commandEnvironment(env), signal, ...run },
    { guard: openGuard(), sandbox, caps },
  )
  const seconds = (outcome.durationMs / 1000).toFixed(1)
  if (outcome.end === 'exited' && outcome.exit === 0) return { report: `${command}: done in ${seconds} s`, ok: true }
  const how = describeEnd(outcome)
  const lines = outcome.output.trimEnd().split('\n').slice(-TAIL_LINES)
  return { report: [`${command}: ${how} after ${seconds} s`, ...lines].join('\n'), ok: false }
}

function describeEnd({ end, exit, cap }: CommandOutcome): string {
  if (end === 'exited') return `failed with exit code ${exit}`
  return end === 'capped' ? `${cap?.text}. It was ended` : END_WORDS[end]
}

const TAIL_LINES = 20

const END_WORDS = {
  killed: 'was killed',
  timed_out: 'took too long and was ended',
  aborted: 'was called off',
  not_started: 'could not be started',
}

/** Folders that installers fill. */
export const INSTALLED_FOLDERS: readonly string[] = [...INSTALLED.keys()]

export interface InstalledFolders {
  /** Folders that were copied from the project, as paths from the top of the worktree. */
  copied: readonly string[]
  /** Whether a set-up command ran, which may have made more folders, also deeper ones. */
  hasSetUp: boolean
  /** Folders that stay from the last task of a slot, in the state in which they were set up. */
  kept?: readonly NotedDependencies[]
  /** The sessions that may have changed what was copied, by folder. */
  doubts?: ReadonlyMap<string, string>
}

/** Notes the state of a worktree's dependency folders before its agent begins, so that changes by the agent can be seen. */
export async function noteDependencies(top: string, ready: InstalledFolders): Promise<void> {
  const made = ready.hasSetUp ? await findInstalledFolders(top) : []
  const isWatched = ({ folder, copied }: NotedDependencies) =>
    basename(folder) !== 'target' && (copied || INSTALLED_FOLDERS.includes(basename(folder)))
  const kept = (ready.kept ?? [])
    .filter(isWatched)
    .map(({ folder, latest, names, copied }) => ({ folder, latest, names, copied }))
  const states: NotedDependencies[] = [...kept]
  const folders = new Set([...ready.copied, ...made].filter(path => basename(path) !== 'target'))
  for (const folder of folders) {
    if (kept.some(noted => noted.folder === folder)) continue
    const state = await readDependencyFolder(join(top, folder))
    const doubt = ready.doubts?.get(folder)
    const copied = ready.copied.includes(folder)
    if (state) states.push({ folder, latest: state.latest, names: state.names, copied, ...(doubt && { doubt }) })
  }
  for (const folder of ready.hasSetUp && existsSync(join(top, '.gitmodules')) ? await listSubmodules(top) : []) {
    const state = await readDependencyFolder(join(top, folder))
    if (state && state.entries.length > 0)
      states.push({ folder, latest: state.latest, names: state.names, copied: false, isSubmodule: true })
  }
  if (states.length > 0) await waitForNextTick(Math.max(...states.map(({ latest }) => latest)))
  await writeNote(top, { dependencies: states })
}

async function listSubmodules(top: string): Promise<string[]> {
  return (await readIndexMarks(top, undefined))?.submodules ?? []
}

/** Kernels stamp files by a coarse clock: only a file that is written a tick later is sure to have a later time. */
export async function waitForNextTick(latest: number): Promise<void> {
  if (Date.now() - latest < TICK_MS) await setTimeout(TICK_MS)
}

const TICK_MS = 20

/** Dependency folders that the agent made itself, whose content is unknown. */
export async function findUnknownFolders(
  top: string,
  inside: string,
  noted: readonly NotedDependencies[],
): Promise<string[]> {
  const unknown: string[] = []
  for (const name of INSTALLED_FOLDERS) {
    const path = join(inside, name)
    if (noted.some(({ folder }) => folder === path)) continue
    if (!(await lstat(join(top, path)).catch(() => undefined))) continue
    const tracked = await git(top, ['ls-files', '-z', '--', path])
    if (tracked.ok && tracked.stdout === '') unknown.push(path)
  }
  return unknown
}

export async function findInstalledFolders(top: string): Promise<string[]> {
  const args = ['ls-files', '--others', '--ignored', '--exclude-standard', '--directory', '-z']
  const { stdout } = await git(top, args)
  const folders = stdout.split('\0').filter(path => path.endsWith('/'))
  return folders.map(path => path.slice(0, -1)).filter(path => INSTALLED_FOLDERS.includes(basename(path)))
}

/** A file, a link or something odd in a dependency folder: what a command could run, load or look for. */
export interface DependencyEntry {
  /** Relative to the folder. */
  path: string
  /** The change time of the file; in a cache the later of it and `placed`. */
  changed: number
  /** The latest time at which a folder above it may have been moved there. Moving a folder changes its time and its parent's, but that of no file in it. */
  placed: number
  /** Tells the file from another one that was moved to its path together with its folder. */
  inode: number
  /** `odd`: a pipe or the like, or what has a name that is no text. */
  kind: 'file' | 'link' | 'odd'
}

export interface DependencyFolder {
  /** The change time of the folder itself. */
  placed: number
  /** The latest change time of any entry. */
  latest: number
  /** A hash of all paths and inodes, and of all contents where change times do not tell (`hidesWrites`). */
  names: string
  entries: DependencyEntry[]
  /** Files that Python has compiled: it would run them instead of their sources, and makes them again where they are missing. */
  compiled: DependencyEntry[]
  /** Records of installers; caches of tools too, if they were asked for. */
  private: DependencyEntry[]
  /** Whether it holds a pipe or the like. */
  isOdd: boolean
  hidesWrites: boolean
}

/** File systems in memory: what is written through a mapping leaves every time as it was. */
const IN_MEMORY = new Set([0x01021994, 0x858458f6])

/** Whether files of a folder can be changed without a new change time. */
export async function hidesWrites(folder: string): Promise<boolean> {
  const type = process.platform === 'linux' && (await statfs(folder).catch(() => undefined))?.type
  return typeof type === 'number' && IN_MEMORY.has(type >>> 0)
}

/** The content of a file of a file system in memory, as a hash. */
export async function hashContent(path: string): Promise<string> {
  const content = await readRegularFile(path, LARGEST_FILE, { follow: false }).catch(() => '')
  return createHash('sha256').update(content).digest('hex')
}

const LARGEST_FILE = 2_000_000_000

/** How many files are read at once: more only fill the queue of the file system. */
const AT_ONCE = 64

/** Reads the change time of every file of a dependency folder, which nobody can set back. Undefined if it is no directory. */
export async function readDependencyFolder(
  folder: string,
  { all = false }: { all?: boolean } = {},
): Promise<DependencyFolder | undefined> {
  const top = await lstat(folder).catch(() => undefined)
  if (!top?.isDirectory()) return undefined
  const found = {
    entries: [] as DependencyEntry[],
    compiled: [] as DependencyEntry[],
    private: [] as DependencyEntry[],
  }
  const { entries, compiled } = found
  const isHidden = await hidesWrites(folder)
  const contents = new Map<DependencyEntry, string>()
  const open = [{ at: '', own: top.ctimeMs, placed: 0, isCache: false }]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { at, own, placed, isCache } = next
    const listed = await readdir(join(folder, at), { withFileTypes: true }).catch(() => undefined)
    if (!listed) entries.push({ path: at, changed: Date.now(), placed, inode: 0, kind: 'odd' })
    const here = (listed ?? []).filter(({ name }) => all || at !== '' || !isPrivateCache(folder, name))
    const below = here.filter(entry => entry.isDirectory()).map(({ name }) => name)
    const times = await Promise.all(below.map(name => changeTimeOf(join(folder, at, name))))
    for (const [index, name] of below.entries()) {
      const isOne = isCache || name === '__pycache__' || (at === '' && isPrivateCache(folder, name))
      const time = times[index] ?? 0
      open.push({ at: join(at, name), own: time, placed: Math.max(placed, Math.min(own, time)), isCache: isOne })
    }
    const files = here.filter(entry => !entry.isDirectory())
    for (let first = 0; first < files.length; first += AT_ONCE) {
      const chunk = files.slice(first, first + AT_ONCE)
      const read = await Promise.all(
        chunk.map(async (entry): Promise<DependencyEntry> => {
          const path = join(at, entry.name)
          const stats = await lstat(join(folder, path)).catch(() => undefined)
          const kind = !stats ? 'odd' : entry.isFile() ? 'file' : entry.isSymbolicLink() ? 'link' : 'odd'
          const changed = Math.max(isCache ? placed : 0, stats?.ctimeMs ?? Date.now())
          const read: DependencyEntry = { path, changed, placed, inode: stats?.ino ?? 0, kind }
          if (isHidden && kind === 'file') contents.set(read, await hashContent(join(folder, path)))
          return read
        }),
      )
      for (const entry of read) {
        const isKept = !isPrivate(folder, entry.path)
        ;(!isKept ? found.private : basename(at) === '__pycache__' ? compiled : entries).push(entry)
      }
    }
  }
  const records = found.private.filter(({ path }) => RECORDS.has(path))
  const latest = [...entries, ...records].reduce((most, { changed }) => Math.max(most, changed), 0)
  const names = createHash('sha256')
  const lineOf = (entry: DependencyEntry) => `${entry.path}\0${entry.inode}\0${contents.get(entry) ?? ''}`
  for (const line of entries.map(lineOf).sort()) names.update(line)
  return {
    placed: top.ctimeMs,
    latest,
    names: names.digest('hex'),
    ...found,
    isOdd: entries.some(({ kind }) => kind === 'odd'),
    hidesWrites: isHidden,
  }
}

async function changeTimeOf(path: string): Promise<number> {
  return (await lstat(path).catch(() => undefined))?.ctimeMs ?? Date.now()
}

/** Installers keep packages and commands in these; other names that begin with a dot are data of tools. */
const WITH_PACKAGES = new Set(['.bin', '.pnpm', '.store'])

/** Caches that tools put into `node_modules`. */
export const CACHES_IN_PACKAGES = ['.cache', '.vite', '.vite-temp', '.vitest']

/** Installers write these at every call, also where they install nothing. */
const RECORDS = new Set([
  ...(INSTALLED.get('node_modules') ?? []),
  ...['.pnpm-workspace-state.json', '.pnpm-workspace-state-v1.json'],
])

function isPrivateCache(folder: string, name: string): boolean {
  return basename(folder) === 'node_modules' && CACHES_IN_PACKAGES.includes(name)
}

/** Whether a path in a `node_modules` belongs to no package and to no code that tools have made for one. */
function isPrivate(folder: string, path: string): boolean {
  const [name = ''] = path.split('/')
  if (basename(folder) !== 'node_modules') return false
  return isPrivateCache(folder, name) || RECORDS.has(path) || (isToolData(name) && path.endsWith('.tsbuildinfo'))
}

/** Whether an entry of a `node_modules` is data of a tool: not a package, and not a folder of packages. */
export function isToolData(name: string): boolean {
  return name.startsWith('.') && !WITH_PACKAGES.has(name)
}
