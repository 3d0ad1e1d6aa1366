import { link, lstat, mkdir, open, readdir, rename, rm, rmdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { crashPoint } from '../../base/crash-point.ts'
import { secretId } from '../../base/ids.ts'
import { redact, redactText, redactValues } from '../../base/redact.ts'
import type { Checkpoint } from '../../domain/checkpoint.ts'

/** A month of half-hourly ones, and what people did besides; the oldest go first. */
const MAX_PER_SESSION = 1_500

export interface SaveOptions {
  /** Values that must not be written: the session's keys and tokens. */
  hidden?: Iterable<string> | undefined
}

/**
 * Writes a checkpoint to `<dir>/<session id>/<id>.json` and gives its id. Whoever reads sees all of it or nothing, also
 * after a power cut; what fails half-way (a full disk) leaves nothing behind that counts.
 */
export async function save(dir: string, checkpoint: Checkpoint, { hidden = [] }: SaveOptions = {}): Promise<string> {
  const folder = join(dir, checkpoint.session_id)
  const made = await mkdir(folder, { recursive: true, mode: 0o700 })
  if (made !== undefined) await syncFolder(dirname(folder))
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
 * Everything but the names of files has what looks like a secret taken out. A name must stay as it is, or its file would
 * seem to be gone; one that holds a secret of the session is left out.
 */
function withoutSecrets(checkpoint: Checkpoint, hidden: string[]): Checkpoint {
  const { modified_files, vendor_id, project_path, ...words } = checkpoint
  const isHarmless = ({ path }: { path: string }) => redactValues(path, hidden) === path
  return {
    ...(redact(words, hidden) as Omit<Checkpoint, 'modified_files' | 'vendor_id' | 'project_path'>),
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

/** Gives the file its name. `link` refuses a name that is taken, so of two in one millisecond none replaces the other. */
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
  /** How long one is kept: `data.checkpoint_retention_days`. */
  days: number
  /** Bytes that all may take together; the oldest go first. */
  maxBytes?: number
  now: number
  /** Whether the newest one of a session stays whatever its age: true for a session that is not over. */
  keepLast(sessionId: string): boolean | Promise<boolean>
}

const DAY_MS = 24 * 60 * 60_000
/** What a crash in the middle of a save left; no save takes an hour. */
const STALE_MS = 60 * 60_000

/** Removes checkpoints that are older than they are kept, and what broken saves left. Gives how many were removed. */
export async function prune(dir: string, { days, maxBytes, now, keepLast }: PruneOptions): Promise<number> {
  let removed = maxBytes === undefined ? 0 : await pruneBySize(dir, maxBytes, keepLast)
  for (const folder of await foldersIn(dir)) {
    const path = join(dir, folder)
    const ids = await listCheckpointIds(path)
    const [newest] = ids
    const old = ids.filter(id => checkpointTime(id) < now - days * DAY_MS)
    const spared = old.length > 0 && newest !== undefined && (await keepLast(folder)) ? newest : undefined
    for (const id of old) {
      if (id === spared) continue
      await rm(join(path, `${id}.json`), { force: true })
      removed += 1
    }
    await removeStale(path, now)
    await rmdir(path).catch(() => undefined) // not empty: the rule
  }
  return removed
}

/** The newest of a session is the last to go, and stays where the session is not over. */
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
  for (const one of all.toSorted((a, b) => Number(a.isNewest) - Number(b.isNewest) || a.time - b.time)) {
    if (total <= maxBytes) break
    if (one.isNewest && (await keepLast(one.session))) continue
    await rm(one.path, { force: true })
    total -= one.bytes
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
    const found = await lstat(join(folder, name)).catch(() => undefined)
    if (found && found.mtimeMs < now - STALE_MS) await rm(join(folder, name), { force: true })
  }
}

/** `2026-01-13T12-00-01.123Z`, then `…-2` for a second one in the same millisecond. Also the only shape that is looked up. */
const ID = /^\d{4,6}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z(-\d{1,4})?$/

/** The name of the nth checkpoint of a moment. */
export function checkpointId(timestamp: number, nth: number): string {
  const time = new Date(timestamp).toISOString().replaceAll(':', '-')
  return nth === 0 ? time : `${time}-${nth + 1}`
}

export function isCheckpointId(text: string): boolean {
  return ID.test(text)
}

/** The time an id was made for, in milliseconds. */
function checkpointTime(id: string): number {
  const [day = '', time = ''] = id.replace(/Z.*$/, 'Z').split('T')
  return Date.parse(`${day}T${time.replace('-', ':').replace('-', ':')}`)
}

/** Ids of the checkpoints in a session's folder, newest first; none where there is no folder. */
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
