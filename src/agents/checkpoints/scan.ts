import type { Dirent } from 'node:fs'
import { lstat, opendir } from 'node:fs/promises'
import { join } from 'node:path'

export interface ScanInput {
  project: string
  /** Files that changed at or after this time, in milliseconds. */
  since: number
  limits?: ScanLimits | undefined
  signal?: AbortSignal | undefined
}

export interface ScanLimits {
  entries: number
  found: number
  ms: number
}

export interface ScannedFile {
  /** Relative to the project's directory. */
  path: string
  changedAt: number
  /** The file was created since that time. */
  isNew: boolean
}

/** `complete` is false when a limit was reached or something could not be read: there may be more. */
export interface ScanResult {
  files: ScannedFile[]
  complete: boolean
}

/** A person who pauses a session does not notice a second and a half; an idle disk reads some 100,000 entries in that time. */
const SCAN_LIMITS: ScanLimits = { entries: 50_000, found: 2_000, ms: 1_500 }

/** Folders with history, downloads or build products: changes there come from other files that are scanned. */
const SKIPPED = new Set(
  `.git .hg .svn .jj .perpetualcc node_modules bower_components .pnpm-store .yarn .venv venv __pycache__ .tox .nox
   .mypy_cache .pytest_cache .ruff_cache .gradle .cache .next .nuxt .svelte-kit .turbo .parcel-cache .terraform
   dist build out target coverage .nyc_output DerivedData Pods`.split(/\s+/),
)

/** File systems use a clock that ticks every few milliseconds: a file may seem older than an earlier write. */
const TICK_MS = 10

/** How many files are read at once: the system handles four at a time, and a queue keeps it busy. */
const AT_ONCE = 64

/**
 * Files of a project that changed since a time, to find changes of commands that no tool call reports. Compared is the time that
 * the system sets (ctime), which `tar`, `cp -p` and `touch -d` cannot set back. Git is not used: a repository's own settings can
 * make it run programs. Links are listed, never followed; the scan is breadth-first, so that a limit cuts off the depths.
 */
export async function scanChanged({ project, since, limits = SCAN_LIMITS, signal }: ScanInput): Promise<ScanResult> {
  const from = since - TICK_MS
  const deadline = performance.now() + limits.ms
  const files: ScannedFile[] = []
  const folders = ['']
  let left = limits.entries
  let complete = true
  for (const folder of folders) {
    try {
      for await (const entries of inBatches(await opendir(join(project, folder), { bufferSize: AT_ONCE }))) {
        left -= entries.length
        if (left < 0 || signal?.aborted || performance.now() > deadline) return { files, complete: false }
        const inside = entries.map(entry => ({ entry, path: folder === '' ? entry.name : `${folder}/${entry.name}` }))
        for (const { entry, path } of inside) {
          if (entry.isDirectory() && !SKIPPED.has(entry.name)) folders.push(path)
        }
        const candidates = inside.filter(({ entry }) => entry.isFile() || entry.isSymbolicLink())
        const scanned = await Promise.all(candidates.map(({ path }) => readTimes(join(project, path), path, from)))
        if (scanned.includes(undefined)) complete = false
        files.push(...scanned.filter(file => file !== undefined).filter(({ changedAt }) => changedAt >= from))
        if (files.length > limits.found) return { files: files.slice(0, limits.found), complete: false }
      }
    } catch {
      complete = false // removed meanwhile, or not readable: the rest is still useful
    }
  }
  return { files, complete }
}

async function* inBatches(entries: AsyncIterable<Dirent>): AsyncGenerator<Dirent[]> {
  let batch: Dirent[] = []
  for await (const entry of entries) {
    batch.push(entry)
    if (batch.length < AT_ONCE) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

/** Undefined if the file was removed meanwhile, or has a name that is not valid text. */
async function readTimes(file: string, path: string, from: number): Promise<ScannedFile | undefined> {
  try {
    const { ctimeMs, birthtimeMs } = await lstat(file)
    return { path, changedAt: ctimeMs, isNew: birthtimeMs >= from }
  } catch {
    return undefined
  }
}
