import { createHash } from 'node:crypto'
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  type Stats,
} from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { admitFile, LARGEST_TEXT } from './admission.ts'

/** Runs git in the project; passed in, because the part that knows how to run it safely is a neighbour. */
export type RunGit = (
  args: readonly string[],
  options: { signal?: AbortSignal | undefined; maxBytes?: number | undefined; input?: string | undefined },
) => Promise<{ ok: boolean; stdout: string; stderr: string }>

export interface SourceEntry {
  path: string
  /** The git blob hash of its content; for files that are too large to read, their size and time. */
  key: string
}

/** What a project contains at one moment. */
export interface SourceTree {
  /** Undefined before the first commit, and outside of git. */
  commit: string | undefined
  /** Files whose content differs from the commit, or that git does not track. */
  dirtyFiles: number
  entries: SourceEntry[]
  /** The content of a file, if its text is wanted, and whether it surely is what its key says. Undefined if there is no plain file. */
  read(entry: SourceEntry): Promise<{ content: Buffer | undefined; size: number; isSure: boolean } | undefined>
}

/** More output of git is refused: a project of a million files has about this much. */
const MOST_LIST_BYTES = 128_000_000

/** The files of a project as they are on the disk now. `root` contains no links. Throws only what git says about a repository that it cannot read. */
export async function readWorkingTree(
  { root, prefix, git }: { root: string; prefix: string; git: RunGit },
  signal?: AbortSignal,
): Promise<SourceTree> {
  const since = Date.now()
  const options = { signal, maxBytes: MOST_LIST_BYTES }
  const [listed, status] = await Promise.all([
    git(['ls-files', '-s', '-z'], options),
    git(
      [
        'status',
        '--porcelain=v2',
        '--branch',
        '-z',
        '--untracked-files=all',
        '--no-renames',
        '--ignore-submodules=all',
        '--',
        '.',
      ],
      options,
    ),
  ])
  signal?.throwIfAborted()
  if (!listed.ok || !status.ok) {
    // An inner project of a repository that git refuses, and a folder without git, are read by their names.
    const entries = await walk(root, signal)
    return { commit: undefined, dirtyFiles: entries.length, entries, read: entry => readEntry(root, entry, since) }
  }
  const { commit, changed } = readStatus(status.stdout, prefix)
  const entries = readIndex(listed.stdout).filter(({ path }) => !changed.has(path))
  for (const path of changed) {
    const key = keyOfFile(root, path, entries[0]?.key.length === 64 ? 'sha256' : 'sha1')
    if (key !== undefined) entries.push({ path, key })
  }
  return { commit, dirtyFiles: changed.size, entries, read: entry => readEntry(root, entry, since) }
}

/** `git ls-files -s -z`: `<mode> <hash> <stage>\t<path>`. Links and submodules are no files; a conflict has several stages. */
function readIndex(listed: string): SourceEntry[] {
  const entries: SourceEntry[] = []
  for (const line of listed.split('\0')) {
    if (!line.startsWith('100')) continue
    const tab = line.indexOf('\t')
    const path = line.slice(tab + 1)
    if (entries.at(-1)?.path !== path) entries.push({ path, key: line.slice(7, line.indexOf(' ', 7)) })
  }
  return entries
}

/** `git status --porcelain=v2 --branch -z`, whose paths begin at the top of the repository: the commit, and the paths that differ from it or are not tracked. */
function readStatus(status: string, prefix: string): { commit: string | undefined; changed: Set<string> } {
  let commit: string | undefined
  const changed = new Set<string>()
  for (const line of status.split('\0')) {
    if (line.startsWith('# branch.oid ')) commit = line.slice(13)
    // "1 XY sub mH mI mW hH hI path" has eight fields before the path, "u XY sub m1 m2 m3 mW h1 h2 h3 path" has ten.
    else if (line.startsWith('1 ')) changed.add(afterFields(line, 8).slice(prefix.length))
    else if (line.startsWith('u ')) changed.add(afterFields(line, 10).slice(prefix.length))
    else if (line.startsWith('? ')) changed.add(line.slice(2 + prefix.length))
  }
  return { commit: commit === '(initial)' ? undefined : commit, changed }
}

function afterFields(line: string, count: number): string {
  let at = 0
  for (let field = 0; field < count; field += 1) at = line.indexOf(' ', at) + 1
  return line.slice(at)
}

/** Everything below a folder but hidden folders and links, where there is no git to ask. */
async function walk(root: string, signal?: AbortSignal): Promise<SourceEntry[]> {
  const entries: SourceEntry[] = []
  const folders = ['']
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    await nextTurn()
    signal?.throwIfAborted()
    const found = listFolder(join(root, folder))
    for (const each of found) {
      const path = folder === '' ? each.name : `${folder}/${each.name}`
      if (each.isDirectory()) {
        if (!each.name.startsWith('.') && admitFile({ path: `${path}/`, size: 0 }).holds !== 'none') folders.push(path)
      } else if (each.isFile()) {
        const stats = lstatSync(join(root, path), { throwIfNoEntry: false })
        if (stats) entries.push({ path, key: keyOfStats(stats) })
      }
    }
  }
  return entries
}

/** What is in a folder; nothing if it cannot be read. */
export function listFolder(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    return [] // it went away, or only somebody else may read it
  }
}

function keyOfStats({ size, mtimeMs, ino }: Stats): string {
  return `${size}-${mtimeMs}-${ino}`
}

/** The key that git would give to the content of a file. */
function keyOfFile(root: string, path: string, algorithm: 'sha1' | 'sha256'): string | undefined {
  const file = readPlainFile(root, path)
  if (!file) return undefined
  const { content, stats } = file
  if (content === undefined) return keyOfStats(stats)
  return createHash(algorithm).update(`blob ${content.length}\0`).update(content).digest('hex')
}

/** Times of files may lag behind the clock by this much. */
const CLOCK_TICK_MS = 20

/** Reads one file. What was changed after the listing began may not be what its key says. */
async function readEntry(root: string, { path }: SourceEntry, since: number) {
  const file = readPlainFile(root, path, ({ size }) => admitFile({ path, size }).holds === 'text')
  if (!file) return undefined
  const { size, mtimeMs, ctimeMs } = file.stats
  return { content: file.content, size, isSure: Math.max(mtimeMs, ctimeMs) < since - CLOCK_TICK_MS }
}

/**
 * A plain file of the project, its content only if it is wanted and not too large. Undefined if there is none, or if its path leads
 * through a link: an agent could put one there, and the index would tell what lies outside of its sandbox. Synchronous, because ten
 * thousand small reads are several times faster so.
 */
export function readPlainFile(
  root: string,
  path: string,
  wants: (stats: Stats) => boolean = () => true,
): { stats: Stats; content: Buffer | undefined } | undefined {
  // An agent can write the index of git, and `join` would take such a path for one of another folder.
  if (path.startsWith('/') || path.split('/').includes('..')) return undefined
  const full = join(root, path)
  let handle: number | undefined
  try {
    handle = openSync(full, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    const real = process.platform === 'linux' ? readlinkSync(`/proc/self/fd/${handle}`) : realpathSync(full)
    const stats = fstatSync(handle)
    if (real !== full || !stats.isFile()) return undefined
    const content = stats.size <= LARGEST_TEXT && wants(stats) ? readFileSync(handle) : undefined
    return { stats, content }
  } catch {
    return undefined // it went away, or only somebody else may read it: then it is not in the index
  } finally {
    if (handle !== undefined) closeSync(handle)
  }
}
