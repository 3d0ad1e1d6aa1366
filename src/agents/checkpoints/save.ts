import { link, lstat, mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { crashPoint } from '../../base/crash-point.ts'
import { secretId } from '../../base/ids.ts'
import { redact, redactText, redactValues } from '../../base/redact.ts'
import type { Checkpoint } from '../../domain/checkpoint.ts'
import { idFor, idsIn } from './checkpoint-id.ts'

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
    const id = idFor(timestamp, nth)
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
  const ids = await idsIn(folder)
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
