import { closeSync, fsyncSync, mkdirSync, openSync, realpathSync, renameSync, rmSync, writeSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { secretId } from './ids.ts'

/**
 * Puts a new content in place of a file at once: whoever reads it sees the old or the new, also after a power cut. A link
 * is followed, not replaced, so a config file that lives in a person's dotfiles stays there. Synchronous, so that it can
 * stand inside `exclusively`.
 */
export function replaceFile(path: string, content: string, mode = 0o600): void {
  const target = realPath(path)
  mkdirSync(dirname(target), { recursive: true, mode: 0o700 })
  const fresh = join(dirname(target), `.${basename(target)}.${secretId(6)}.tmp`)
  try {
    const handle = openSync(fresh, 'wx', mode)
    try {
      writeSync(handle, content)
      fsyncSync(handle)
    } finally {
      closeSync(handle)
    }
    renameSync(fresh, target)
  } catch (thrown) {
    rmSync(fresh, { force: true })
    throw thrown
  }
}

function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return path
    throw thrown
  }
}

/** Longer than any edit of a small file takes, shorter than a person's patience. */
const WAIT_MS = 5_000

/**
 * Runs `work` while no other process runs its own under the same lock file. The lock is SQLite's, which is the kernel's:
 * it goes with its owner, so a crash leaves nothing stale behind. `work` is synchronous because a second call in this
 * process would otherwise wait for itself.
 */
export function withFileLock<T>(lockFile: string, work: () => T): T {
  mkdirSync(dirname(lockFile), { recursive: true, mode: 0o700 })
  const lock = new DatabaseSync(lockFile, { timeout: WAIT_MS })
  try {
    lock.exec('begin immediate')
    return work()
  } finally {
    lock.close()
  }
}
