import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { copyFile, cp, lstat, mkdir, opendir, readdir, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { openGuard } from '../../base/process/guardian.ts'
import type { WorktreeRow } from '../../domain/worktree.ts'
import { commandEnvironment, runCommand } from '../command/run-command.ts'
import { git } from '../git/git.ts'
import { type NotedDependencies, writeNote } from './worktree-note.ts'

/**
 * Directories that programs fill and git ignores. A virtual environment of Python is not among them: it knows its own path, and
 * whoever installs something in a copy of it installs it in the person's.
 */
const USUAL_FOLDERS = ['node_modules', 'vendor', 'target']

/** Where every byte has to be copied, no more than this: beyond it the set-up command is quicker. */
const MOST_BYTES = 300_000_000
const MOST_FILES = 40_000
/** Where the file system shares the bytes, only the number of files takes time. */
const MOST_SHARED_FILES = 400_000

/**
 * Gives a worktree the project's dependency directories: a copy that shares its bytes with the original until one of them is
 * written, where the file system can do that, else a plain copy as long as it is small. Never a link: an agent that installs
 * something would change what the person works with. Gives what it did, in words, and which folders are copies.
 */
export async function copyDependencies(
  row: WorktreeRow,
  named: readonly string[],
  signal: AbortSignal,
): Promise<{ said: string[]; copied: string[] }> {
  const said: string[] = []
  const copied: string[] = []
  for (const name of named.length > 0 ? named : USUAL_FOLDERS) {
    const [from, to] = [join(row.project, name), join(row.directory, name)]
    const isThere = (await lstat(from).catch(() => undefined))?.isDirectory()
    // What is part of the repository is there already, and so is what an earlier try has copied.
    if (!isThere || (await lstat(to).catch(() => undefined))) continue
    const done = await copyDependencyFolder(name, { from, to, signal })
    said.push(done.said)
    if (done.isCopied) copied.push(name)
  }
  return { said, copied }
}

/** Copies one of them, which is not there yet. */
export async function copyDependencyFolder(
  name: string,
  way: { from: string; to: string; signal: AbortSignal },
): Promise<{ said: string; isCopied: boolean }> {
  const { from, to, signal } = way
  const isShared = await canShare(from, to)
  const size = await sizeOf(from, isShared ? { files: MOST_SHARED_FILES } : { files: MOST_FILES, bytes: MOST_BYTES })
  if (!size) return { said: `${name} is too large to be copied: let worktrees.setup make it`, isCopied: false }
  // It gets its name when it is whole: half of it would pass for all of it.
  const aside = `${to}.pcc-copying`
  try {
    await rm(aside, { recursive: true, force: true })
    await cp(from, aside, {
      recursive: true,
      verbatimSymlinks: true,
      preserveTimestamps: true,
      mode: constants.COPYFILE_FICLONE,
      filter: () => {
        signal.throwIfAborted()
        return true
      },
    })
    await rename(aside, to)
    return { said: `${name} ${isShared ? 'copied on write' : 'copied'} (${size.files} files)`, isCopied: true }
  } catch (thrown) {
    await rm(aside, { recursive: true, force: true })
    const why = signal.aborted ? 'it took too long' : (thrown as Error).message
    return { said: `${name} could not be copied (${why})`, isCopied: false }
  }
}

/** Found out by doing it, with a file of the directory itself: it may lie on another disk. */
async function canShare(from: string, to: string): Promise<boolean> {
  const sample = await firstFile(from)
  if (sample === undefined) return false
  const probe = `${to}.pcc-probe`
  try {
    await mkdir(dirname(probe), { recursive: true })
    await copyFile(sample, probe, constants.COPYFILE_FICLONE_FORCE)
    return true
  } catch {
    return false // the file system cannot, or the two are on different ones
  } finally {
    await rm(probe, { force: true })
  }
}

async function firstFile(folder: string): Promise<string | undefined> {
  for await (const entry of await opendir(folder, { recursive: true })) {
    if (entry.isFile()) return join(entry.parentPath, entry.name)
  }
  return undefined
}

/** How much there is, or undefined as soon as it is more than that. */
async function sizeOf(
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
  /** Else only its time can be up. */
  signal?: AbortSignal | undefined
}

/** Runs the command that makes a fresh worktree ready, as gates run theirs, and gives what became of it, in words. */
export async function runSetupCommand({
  command,
  env,
  signal = new AbortController().signal,
  ...run
}: SetupCommand): Promise<{ said: string; ok: boolean }> {
  const outcome = await runCommand({ command, env: commandEnvironment(env), signal, ...run }, { guard: openGuard() })
  const seconds = (outcome.durationMs / 1000).toFixed(1)
  if (outcome.end === 'exited' && outcome.exit === 0) return { said: `${command}: done in ${seconds} s`, ok: true }
  const how = outcome.end === 'exited' ? `failed with exit code ${outcome.exit}` : END_WORDS[outcome.end]
  const lines = outcome.output.trimEnd().split('\n').slice(-TAIL_LINES)
  return { said: [`${command}: ${how} after ${seconds} s`, ...lines].join('\n'), ok: false }
}

const TAIL_LINES = 20

const END_WORDS = {
  killed: 'was killed',
  timed_out: 'took too long and was ended',
  aborted: 'was called off',
  not_started: 'could not be started',
}

/** Folders that installers fill. What builds fill (`target`) is changed by every build, and is not among them. */
const INSTALLED_FOLDERS = ['node_modules', 'vendor', '.venv', 'venv']

export interface InstalledFolders {
  /** Those that were copied from the project, from the top. */
  copied: readonly string[]
  /** Whether a set-up command ran, which may have made more, also further down. */
  hasSetUp: boolean
}

/** Notes how the dependency folders of a worktree are before its agent begins: what an agent changes in them shows. */
export async function noteDependencies(top: string, ready: InstalledFolders): Promise<void> {
  const made = ready.hasSetUp ? await findInstalledFolders(top) : []
  const folders = new Set([...ready.copied, ...made].filter(path => basename(path) !== 'target'))
  const states: NotedDependencies[] = []
  for (const folder of folders) {
    const state = await readDependencyFolder(join(top, folder))
    if (state) states.push({ folder, latest: state.latest, names: state.names, copied: ready.copied.includes(folder) })
  }
  if (states.length > 0) await nextTick(Math.max(...states.map(({ latest }) => latest)))
  await writeNote(top, { dependencies: states })
}

/** Kernels stamp files by a coarse clock: only what is written a tick later is sure to look later. */
async function nextTick(latest: number): Promise<void> {
  if (Date.now() - latest < TICK_MS) await setTimeout(TICK_MS)
}

const TICK_MS = 20

/** Those that an agent made itself: nobody can say what is in them. */
export async function findUnknownFolders(
  top: string,
  inside: string,
  known: readonly NotedDependencies[],
): Promise<string[]> {
  const found: string[] = []
  for (const name of INSTALLED_FOLDERS) {
    const path = join(inside, name)
    if (known.some(({ folder }) => folder === path)) continue
    if (!(await lstat(join(top, path)).catch(() => undefined))) continue
    const tracked = await git(top, ['ls-files', '-z', '--', path])
    if (tracked.ok && tracked.stdout === '') found.push(path)
  }
  return found
}

async function findInstalledFolders(top: string): Promise<string[]> {
  const args = ['ls-files', '--others', '--ignored', '--exclude-standard', '--directory', '-z']
  const { stdout } = await git(top, args)
  const folders = stdout.split('\0').filter(path => path.endsWith('/'))
  return folders.map(path => path.slice(0, -1)).filter(path => INSTALLED_FOLDERS.includes(basename(path)))
}

/** Something in a dependency folder that a command could run or load: a file or a link. */
export interface DependencyEntry {
  /** From the folder. */
  path: string
  changed: number
  kind: 'file' | 'link'
}

export interface DependencyFolder {
  /** The latest change time of any entry. */
  latest: number
  /** One name for all paths. */
  names: string
  entries: DependencyEntry[]
  /** What Python has compiled of them: it would be taken for its source, and is made again where it is gone. */
  compiled: DependencyEntry[]
}

/** How many are asked for at once: more only fill the queue of the file system. */
const AT_ONCE = 64

/** Looks at a dependency folder: every file's change time, which nobody can set back. Undefined where it is no directory. */
export async function readDependencyFolder(folder: string): Promise<DependencyFolder | undefined> {
  if (!(await lstat(folder).catch(() => undefined))?.isDirectory()) return undefined
  const [entries, compiled]: [DependencyEntry[], DependencyEntry[]] = [[], []]
  const open = ['']
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    const here = (await readdir(join(folder, at), { withFileTypes: true })).filter(
      ({ name }) => at !== '' || isWatched(folder, name),
    )
    for (const entry of here) if (entry.isDirectory()) open.push(join(at, entry.name))
    const files = here.filter(entry => entry.isFile() || entry.isSymbolicLink())
    for (let first = 0; first < files.length; first += AT_ONCE) {
      const some = files.slice(first, first + AT_ONCE)
      const found = await Promise.all(
        some.map(async (entry): Promise<DependencyEntry> => {
          const path = join(at, entry.name)
          const { ctimeMs } = await lstat(join(folder, path))
          return { path, changed: ctimeMs, kind: entry.isFile() ? 'file' : 'link' }
        }),
      )
      ;(basename(at) === '__pycache__' ? compiled : entries).push(...found)
    }
  }
  const latest = entries.reduce((most, { changed }) => Math.max(most, changed), 0)
  const names = createHash('sha256')
  for (const path of entries.map(entry => entry.path).sort()) names.update(`${path}\0`)
  return { latest, names: names.digest('hex'), entries, compiled }
}

/** Installers keep packages and commands in these; what else begins with a dot there is what tools keep for themselves. */
const INSTALLED = new Set(['.bin', '.pnpm', '.store'])

function isWatched(folder: string, name: string): boolean {
  return basename(folder) !== 'node_modules' || !name.startsWith('.') || INSTALLED.has(name)
}
