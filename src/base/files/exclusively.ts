import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

/** Longer than any edit of a small file takes, shorter than a person's patience. */
const WAIT_MS = 5_000

/**
 * Runs `work` while no other process runs its own under the same lock file. The lock is SQLite's, which is the kernel's:
 * it goes with its owner, so a crash leaves nothing stale behind. `work` is synchronous because a second call in this
 * process would otherwise wait for itself.
 */
export function exclusively<T>(lockFile: string, work: () => T): T {
  mkdirSync(dirname(lockFile), { recursive: true, mode: 0o700 })
  const lock = new DatabaseSync(lockFile, { timeout: WAIT_MS })
  try {
    lock.exec('begin immediate')
    return work()
  } finally {
    lock.close()
  }
}
