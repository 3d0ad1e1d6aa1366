import { lstat, opendir } from 'node:fs/promises'
import { join } from 'node:path'

export interface Scan {
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
  createdAt: number
}

/** `complete` is false where a bound was met, or something could not be read: there may be more. */
export interface ScanResult {
  files: ScannedFile[]
  complete: boolean
}

/** A second and a half is what a person who pauses a session does not notice; an idle disk reads some 100,000 entries in it. */
export const SCAN_LIMITS: ScanLimits = { entries: 50_000, found: 2_000, ms: 1_500 }

/** Folders that hold history, downloads or products: what changes there was made from something else that is looked at. */
const SKIPPED = new Set(
  `.git .hg .svn .jj .perpetualcc node_modules bower_components .pnpm-store .yarn .venv venv __pycache__ .tox .nox
   .mypy_cache .pytest_cache .ruff_cache .gradle .cache .next .nuxt .svelte-kit .turbo .parcel-cache .terraform
   dist build out target coverage .nyc_output DerivedData Pods`.split(/\s+/),
)

/**
 * Files of a project that changed since a time, for what commands changed and no tool call tells of. Looked at by the time
 * the system set (ctime), which `tar`, `cp -p` and `touch -d` cannot set back. Git is not asked: a repository's own
 * settings can make it run programs. Links are named, never followed; wide before deep, so that a bound cuts the depths.
 */
export async function scanChanged({ project, since, limits = SCAN_LIMITS, signal }: Scan): Promise<ScanResult> {
  const deadline = performance.now() + limits.ms
  const files: ScannedFile[] = []
  const folders = ['']
  let left = limits.entries
  let complete = true
  for (const folder of folders) {
    try {
      for await (const entry of await opendir(join(project, folder))) {
        if (--left < 0 || files.length >= limits.found) return { files, complete: false }
        if (signal?.aborted || performance.now() > deadline) return { files, complete: false }
        const path = folder === '' ? entry.name : `${folder}/${entry.name}`
        if (entry.isDirectory()) {
          if (!SKIPPED.has(entry.name)) folders.push(path)
        } else if (entry.isFile() || entry.isSymbolicLink()) {
          const { ctimeMs, birthtimeMs } = await lstat(join(project, path))
          if (ctimeMs >= since) files.push({ path, changedAt: ctimeMs, createdAt: birthtimeMs })
        }
      }
    } catch {
      complete = false // gone meanwhile, or not ours to read: the rest is still worth having
    }
  }
  return { files, complete }
}
