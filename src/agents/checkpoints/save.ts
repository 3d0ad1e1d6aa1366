import { link, lstat, mkdir, open, readdir, rename, rm, rmdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { DAY_MS } from '../../base/clock.ts'
import { crashPoint } from '../../base/crash-point.ts'
import { secretId } from '../../base/ids.ts'
import { redact, redactText, redactValues } from '../../base/redact.ts'
import type { Checkpoint } from '../../domain/checkpoint.ts'

/** A month of half-hourly checkpoints, and some that people caused; the oldest are removed first. */
const MAX_PER_SESSION = 1_500

export interface SaveOptions {
  /** Values that must not be written: the session's keys and tokens. */
  hidden?: Iterable<string> | undefined
}

/**
 * Writes a checkpoint to `<dir>/<session id>/<id>.json` and returns its id. A reader sees all of it or nothing, even after a
 * power cut; a save that fails half-way (full disk) leaves no checkpoint behind.
 */
export async function save(dir: string, checkpoint: Checkpoint, { hidden = [] }: SaveOptions = {}): Promise<string> {
  const folder = join(dir, checkpoint.session_id)
  const firstCreated = await mkdir(folder, { recursive: true, mode: 0o700 })
  if (firstCreated !== undefined) await syncFolder(dirname(folder))
  const fresh = join(folder, `.${secretId(9)}.tmp`)
  try {
    crashPoint('checkpoint.before-write')
    await writeSynced(fresh, `${JSON.stringify(withoutSecrets(checkpoint, [...hidden]), null, 2)}\n`)
    crashPoint('checkpoint.before-rename')
    const id = await publish(fresh, folder, checkpoint.timestamp)
    crashPoint('checkpoint.after-rename')
    await syncFolder(folder)
    await dropOldest(folder)
    return id
  } finally {
    await rm(fresh, { force: true })
  }
}

/**
 * Removes what looks like a secret from everything but the names of files. A name must stay as it is, or its file would seem to
 * be gone; a name that holds a secret of the session is left out.
 */
function withoutSecrets(checkpoint: Checkpoint, hidden: string[]): Checkpoint {
  const { modified_files, vendor_id, project_path, ...rest } = checkpoint
  const isHarmless = ({ path }: { path: string }) => redactValues(path, hidden) === path
  return {
    ...(redact(rest, hidden) as Omit<Checkpoint, 'modified_files' | 'vendor_id' | 'project_path'>),
    project_path,
    vendor_id: vendor_id === null ? null : redactText(vendor_id, hidden),
    modified_files: modified_files.filter(isHarmless),
  }
}

async function writeSynced(file: string, text: string): Promise<void> {
  await using handle = await open(file, 'wx', 0o600)
  await handle.writeFile(text)
  await handle.sync()
}

/** Gives the file its name. `link` refuses an existing name, so two checkpoints in one millisecond do not replace each other. */
async function publish(fresh: string, folder: string, timestamp: number): Promise<string> {
  for (let nth = 0; ; nth++) {
    const id = checkpointId(timestamp, nth)
    const file = join(folder, `${id}.json`)
    try {
      await link(fresh, file)
      return id
    } catch (thrown) {
      const { code } = thrown as NodeJS.ErrnoException
      if (code === 'EEXIST') continue
      if (code !== 'EPERM' && code !== 'ENOTSUP' && code !== 'ENOSYS' && code !== 'EMLINK') throw thrown
    }
    // A file system without hard links.
    if (await exists(file)) continue
    await rename(fresh, file)
    return id
  }
}

async function dropOldest(folder: string): Promise<void> {
  const ids = await listCheckpointIds(folder)
  for (const id of ids.slice(MAX_PER_SESSION)) await rm(join(folder, `${id}.json`), { force: true })
}

async function exists(file: string): Promise<boolean> {
  return lstat(file).then(
    () => true,
    () => false,
  )
}

async function syncFolder(folder: string): Promise<void> {
  await using handle = await open(folder, 'r')
  await handle.sync().catch(() => undefined) // some file systems cannot sync a folder; the file itself is synced
}

export interface PruneOptions {
  /** How long a checkpoint is kept: `data.checkpoint_retention_days`. */
  days: number
  /** Bytes for all checkpoints together; the oldest are removed first. */
  maxBytes?: number
  now: number
  /** Whether the newest checkpoint of a session stays whatever its age: true for a session that is not over. */
  keepLast(sessionId: string): boolean | Promise<boolean>
}

/** A temporary file of this age is left from a crash: no save takes an hour. */
const STALE_MS = 60 * 60_000

/** Removes checkpoints that are too old, and leftovers of broken saves. Returns how many checkpoints were removed. */
export async function prune(dir: string, { days, maxBytes, now, keepLast }: PruneOptions): Promise<number> {
  let removed = maxBytes === undefined ? 0 : await pruneBySize(dir, maxBytes, keepLast)
  for (const folder of await foldersIn(dir)) {
    const path = join(dir, folder)
    const ids = await listCheckpointIds(path)
    const [newest] = ids
    const old = ids.filter(id => checkpointTime(id) < now - days * DAY_MS)
    const kept = old.length > 0 && newest !== undefined && (await keepLast(folder)) ? newest : undefined
    for (const id of old) {
      if (id === kept) continue
      await rm(join(path, `${id}.json`), { force: true })
      removed += 1
    }
    await removeStale(path, now)
    await rmdir(path).catch(() => undefined) // usually it is not empty
  }
  return removed
}

/** The newest checkpoint of a session is removed last, and stays if the session is not over. */
async function pruneBySize(dir: string, maxBytes: number, keepLast: PruneOptions['keepLast']): Promise<number> {
  const all: { path: string; session: string; time: number; bytes: number; isNewest: boolean }[] = []
  for (const session of await foldersIn(dir)) {
    const ids = await listCheckpointIds(join(dir, session))
    for (const [nth, id] of ids.entries()) {
      const path = join(dir, session, `${id}.json`)
      const bytes = (await lstat(path).catch(() => undefined))?.size ?? 0
      all.push({ path, session, time: checkpointTime(id), bytes, isNewest: nth === 0 })
    }
  }
  let total = all.reduce((sum, { bytes }) => sum + bytes, 0)
  let removed = 0
  for (const checkpoint of all.toSorted((a, b) => Number(a.isNewest) - Number(b.isNewest) || a.time - b.time)) {
    if (total <= maxBytes) break
    if (checkpoint.isNewest && (await keepLast(checkpoint.session))) continue
    await rm(checkpoint.path, { force: true })
    total -= checkpoint.bytes
    removed += 1
  }
  return removed
}

async function foldersIn(dir: string): Promise<string[]> {
  const entries = await readdir(dir, { withFileTypes: true }).catch(thrown => {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw thrown
  })
  return entries.filter(entry => entry.isDirectory()).map(({ name }) => name)
}

async function removeStale(folder: string, now: number): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!/^\..+\.tmp$/.test(name)) continue
    const stats = await lstat(join(folder, name)).catch(() => undefined)
    if (stats && stats.mtimeMs < now - STALE_MS) await rm(join(folder, name), { force: true })
  }
}

/** `2026-01-13T12-00-01.123Z`, then `…-2` for a second checkpoint in the same millisecond. No other names are read. */
const ID = /^\d{4,6}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z(-\d{1,4})?$/

/** The id of the nth checkpoint of a moment. */
export function checkpointId(timestamp: number, nth: number): string {
  const time = new Date(timestamp).toISOString().replaceAll(':', '-')
  return nth === 0 ? time : `${time}-${nth + 1}`
}

export function isCheckpointId(text: string): boolean {
  return ID.test(text)
}

/** The time of a checkpoint id, in milliseconds. */
function checkpointTime(id: string): number {
  const [day = '', time = ''] = id.replace(/Z.*$/, 'Z').split('T')
  return Date.parse(`${day}T${time.replace('-', ':').replace('-', ':')}`)
}

/** Ids of the checkpoints in a session's folder, newest first; none if there is no folder. */
export async function listCheckpointIds(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(thrown => {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw thrown
  })
  return names
    .filter(name => name.endsWith('.json'))
    .map(name => name.slice(0, -'.json'.length))
    .filter(isCheckpointId)
    .toSorted((a, b) => checkpointTime(b) - checkpointTime(a) || nthOf(b) - nthOf(a))
}

function nthOf(id: string): number {
  return Number(id.split('Z-')[1] ?? 1)
}
