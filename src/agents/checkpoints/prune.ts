import { lstat, readdir, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { idsIn, timeOfId } from './checkpoint-id.ts'

export interface Prune {
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
export async function prune(dir: string, { days, maxBytes, now, keepLast }: Prune): Promise<number> {
  let removed = maxBytes === undefined ? 0 : await pruneBySize(dir, maxBytes, keepLast)
  for (const folder of await foldersIn(dir)) {
    const path = join(dir, folder)
    const ids = await idsIn(path)
    const [newest] = ids
    const old = ids.filter(id => timeOfId(id) < now - days * DAY_MS)
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
async function pruneBySize(dir: string, maxBytes: number, keepLast: Prune['keepLast']): Promise<number> {
  const all: { path: string; session: string; time: number; bytes: number; isNewest: boolean }[] = []
  for (const session of await foldersIn(dir)) {
    const ids = await idsIn(join(dir, session))
    for (const [nth, id] of ids.entries()) {
      const path = join(dir, session, `${id}.json`)
      const bytes = (await lstat(path).catch(() => undefined))?.size ?? 0
      all.push({ path, session, time: timeOfId(id), bytes, isNewest: nth === 0 })
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
