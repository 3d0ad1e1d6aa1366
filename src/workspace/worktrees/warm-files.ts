import { lstat } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import { openRealFolder, removeInside } from '../../base/real-folder.ts'
import { INSTALLED, LOCK_FILE, MANIFEST } from '../../domain/package-managers.ts'
import type { WorktreeRow } from '../../domain/worktree.ts'
import { git } from '../git/git.ts'
import {
  type DependencyEntry,
  type DependencyFolder,
  hashContent,
  hidesWrites,
  readDependencyFolder,
  waitForNextTick,
} from './dependencies.ts'
import type { WorktreeSettings } from './worktree.ts'
import { type NotedWarmFile, readNote, writeNote } from './worktree-note.ts'

/** What of the last task's set-up may stay in a slot for the next task. */
export interface WarmFiles {
  /** Unchanged since they were copied from the project or made by the set-up command. */
  kept: NotedWarmFile[]
  /** Everything that the set-up command made is among them, so that it need not run again. */
  isSetUp: boolean
}

export const NO_WARM_FILES: WarmFiles = { kept: [], isSetUp: false }

/** The paths in a slot that stay until `checkWarmFiles` decides about them. */
export async function listWarmFiles(top: string): Promise<string[]> {
  return (await readNote(top)).warm?.entries.map(({ folder }) => folder) ?? []
}

/**
 * Finds the dependencies and other ignored files of a slot that the next task may have: those that nobody has changed since they were set
 * up, by the change time of every file, which nobody can set back. Where the set-up command would make others now, because a manifest or
 * lock file differs, and where something that it made is missing or changed, all of it is made again.
 */
export async function checkWarmFiles(row: WorktreeRow, { setup }: Pick<WorktreeSettings, 'setup'>): Promise<WarmFiles> {
  const { warm } = await readNote(row.top)
  if (!warm || warm.setup !== (setup ?? null)) return NO_WARM_FILES
  if (setup !== undefined && (await changesManifest(row.top, warm.base, row.base))) return NO_WARM_FILES
  const kept: NotedWarmFile[] = []
  for (const noted of warm.entries) if (await isUnchanged(row, noted)) kept.push(noted)
  if (setup === undefined) return { kept, isSetUp: false }
  return kept.length === warm.entries.length ? { kept, isSetUp: true } : NO_WARM_FILES
}

/** Whether two commits differ in what is to be installed: in a manifest or a lock file. */
export async function changesManifest(top: string, from: string, to: string): Promise<boolean> {
  if (from === to) return false
  const { ok, stdout } = await git(top, ['diff', '--name-only', '--no-renames', '-z', from, to, '--'])
  return !ok || stdout.split('\0').some(path => MANIFEST.test(path) || LOCK_FILE.test(path))
}

async function isUnchanged(row: WorktreeRow, noted: NotedWarmFile): Promise<boolean> {
  const { top } = row
  {
    await using parent = await openRealFolder(top, dirname(noted.folder))
    if (!parent) return false
  }
  if (noted.copied && (await fingerprintSource(row, noted.folder)) !== noted.source) return false
  const now = await readState(top, noted.folder)
  if (!now || now.latest > noted.latest || now.names !== noted.names) return false
  const isLate = ({ path, changed }: DependencyEntry) => changed > noted.all || (now.hidesWrites && IN_CACHE.test(path))
  const late = now.private.filter(isLate)
  const caches = late.filter(({ path }) => IN_CACHE.test(path))
  if (caches.length < late.length) return false
  for (const { path } of caches) await removeInside(top, join(noted.folder, path))
  return true
}

/** Files that tools write again by themselves: compiled Python, and caches in `node_modules`. */
const IN_CACHE = /(^|\/)__pycache__\/|^\.(cache|vite|vite-temp|vitest)\/|\.tsbuildinfo$/

interface FileState extends Pick<DependencyFolder, 'placed' | 'latest' | 'names' | 'hidesWrites'> {
  private: DependencyEntry[]
}

/** The state of a file, a link or a folder; undefined if it is missing, or holds anything else. */
async function readState(top: string, path: string): Promise<FileState | undefined> {
  const stats = await lstat(join(top, path)).catch(() => undefined)
  if (stats?.isFile() || stats?.isSymbolicLink()) {
    const isHidden = await hidesWrites(top)
    const names = stats.isSymbolicLink() ? 'link' : isHidden ? await hashContent(join(top, path)) : 'file'
    return { placed: 0, latest: stats.ctimeMs, names, private: [], hidesWrites: isHidden }
  }
  const folder = await readDependencyFolder(join(top, path), { all: true })
  if (!folder || folder.isOdd) return undefined
  const { compiled, private: own, ...state } = folder
  return { ...state, private: [...own, ...compiled] }
}

/** Installers write these last: where none of them changed in the project's folder, its packages are those that were copied. */
const RECORDS = ['.', ...[...INSTALLED.values()].flat()]

async function fingerprintSource({ project, top, directory }: WorktreeRow, folder: string): Promise<string> {
  const source = join(project, relative(relative(top, directory), folder))
  const stats = await Promise.all(RECORDS.map(name => lstat(join(source, name)).catch(() => undefined)))
  return stats.map(each => (each ? `${each.ino} ${each.size} ${each.mtimeMs}` : '')).join('\n')
}

export interface NewWarmFiles {
  /** Paths from the top: folders that were copied from the project, and what the set-up command made. */
  copied: readonly string[]
  made: readonly string[]
  /** What stays from before. */
  kept: readonly NotedWarmFile[]
  /** The set-up command, if it ran well; null if there is none. */
  setup: string | null
}

/** Notes what was set up in a slot before its agent begins, so that it is known later what may stay for the next task. */
export async function noteWarmFiles(row: WorktreeRow, { copied, made, kept, setup }: NewWarmFiles): Promise<void> {
  const entries: NotedWarmFile[] = [...kept]
  for (const folder of new Set([...copied, ...made].filter(path => !isCache(path)))) {
    const state = await readState(row.top, folder)
    if (!state || kept.some(noted => noted.folder === folder)) continue
    const all = state.private.reduce(
      (latest, { changed }) => Math.max(latest, changed),
      Math.max(state.placed, state.latest),
    )
    const isCopied = copied.includes(folder)
    const source = isCopied ? await fingerprintSource(row, folder) : null
    entries.push({ folder, latest: state.latest, names: state.names, copied: isCopied, all, source })
  }
  const latest = Math.max(0, ...entries.map(({ all }) => all))
  await waitForNextTick(latest)
  await writeNote(row.top, { warm: { base: row.base, setup, entries } })
}

/** Caches of checkers and interpreters: they are removed before gates run, and nobody misses them. */
const CACHES = new Set([
  '__pycache__',
  '.pytest_cache',
  '.mypy_cache',
  '.ruff_cache',
  '.eslintcache',
  '.stylelintcache',
  '.jest-cache',
  '.vitest',
  '.turbo',
  '.nx',
])

export function isCache(path: string): boolean {
  return CACHES.has(basename(path)) || path.endsWith('.tsbuildinfo')
}
