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
  /** From the project's directory. */
  path: string
  changedAt: number
  /** It was not there before that time. */
  isNew: boolean
}

/** `complete` is false where a bound was met, or something could not be read: there may be more. */
export interface ScanResult {
  files: ScannedFile[]
  complete: boolean
}

/** A second and a half is what a person who pauses a session does not notice; an idle disk reads some 100,000 entries in it. */
const SCAN_LIMITS: ScanLimits = { entries: 50_000, found: 2_000, ms: 1_500 }

/** Folders that hold history, downloads or products: what changes there was made from something else that is looked at. */
const SKIPPED = new Set(
  `.git .hg .svn .jj .perpetualcc node_modules bower_components .pnpm-store .yarn .venv venv __pycache__ .tox .nox
   .mypy_cache .pytest_cache .ruff_cache .gradle .cache .next .nuxt .svelte-kit .turbo .parcel-cache .terraform
   dist build out target coverage .nyc_output DerivedData Pods`.split(/\s+/),
)

/** File systems stamp by a clock that ticks every few milliseconds: a file may seem older than what was written before it. */
const TICK_MS = 10

/** Asked of the system at once: it answers four at a time, and a queue of some keeps it busy. */
const AT_ONCE = 64

/**
 * Files of a project that changed since a time, for what commands changed and no tool call tells of. Looked at by the time
 * the system set (ctime), which `tar`, `cp -p` and `touch -d` cannot set back. Git is not asked: a repository's own
 * settings can make it run programs. Links are named, never followed; wide before deep, so that a bound cuts the depths.
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
        const looked = inside.filter(({ entry }) => entry.isFile() || entry.isSymbolicLink())
        const found = await Promise.all(looked.map(({ path }) => lookAt(join(project, path), path, from)))
        if (found.includes(undefined)) complete = false
        files.push(...found.filter(file => file !== undefined).filter(({ changedAt }) => changedAt >= from))
        if (files.length > limits.found) return { files: files.slice(0, limits.found), complete: false }
      }
    } catch {
      complete = false // gone meanwhile, or not ours to read: the rest is still worth having
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

/** Nothing where the file went away meanwhile, or has a name that cannot be written as text. */
async function lookAt(file: string, path: string, from: number): Promise<ScannedFile | undefined> {
  try {
    const { ctimeMs, birthtimeMs } = await lstat(file)
    return { path, changedAt: ctimeMs, isNew: birthtimeMs >= from }
  } catch {
    return undefined
  }
}
