import { lstat, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'

const DAY_MS = 24 * 60 * 60_000

/** What we put into the directory of logs beside the one that is being written: rotated files and diagnostics. */
const OURS = /^(daemon\.log\.\d+|stall-.+\.json|report\..+\.json)$/

/** Diagnostics that are kept however young: a restart storm must not fill the disk with them. */
const MOST_DIAGNOSTICS = 20

/** Removes rotated logs and diagnostics that are older than they are kept. Gives how many. */
export async function pruneLogs(dir: string, { days, now }: { days: number; now: number }): Promise<number> {
  const names = (await readdir(dir)).filter(name => OURS.test(name))
  const files = await Promise.all(
    names.map(async name => ({ name, time: (await lstat(join(dir, name)).catch(() => undefined))?.mtimeMs ?? now })),
  )
  const old = files.filter(({ time }) => time < now - days * DAY_MS)
  const diagnostics = files.filter(({ name }) => !name.startsWith('daemon.log')).toSorted((a, b) => b.time - a.time)
  const gone = new Set([...old, ...diagnostics.slice(MOST_DIAGNOSTICS)].map(({ name }) => name))
  for (const name of gone) await rm(join(dir, name), { force: true })
  return gone.size
}
