import { setFlagsFromString } from 'node:v8'
import type { AppPaths } from '../base/app-paths.ts'
import { AppError, messageOf } from '../base/errors.ts'
import { shortId } from '../base/ids.ts'
import { classifyDiskError } from './disk.ts'
import { takeLock } from './lock.ts'
import { EXIT, findRestarter, forgetVerdict, recordParent } from './parent-process.ts'
import { makeDirectories, openAnnouncer, unusableDirectory } from './startup.ts'

export interface RunDaemon {
  paths: AppPaths
  env: Record<string, string | undefined>
  /** A person watches: log lines are shown as well as kept. */
  foreground?: boolean
}

/**
 * The daemon's whole life: take the lock, serve, drain, and return the exit code. The lock comes before everything that is
 * slow to load, so that of many starters all but one leave at once.
 */
export async function runDaemon({ paths, env, foreground = false }: RunDaemon): Promise<number> {
  keepYoungHeapSmall()
  const bootId = shortId('boot')
  const hasParent = findRestarter(env) === 'parent'
  const announce = openAnnouncer()
  try {
    makeDirectories(paths)
    await using _lock = await takeLock(paths, bootId)
    await recordParent(paths, hasParent ? process.ppid : undefined)
    const { serve } = await import('./serve.ts')
    const failed = await serve({ paths, env, foreground, bootId, ready: announce })
    if (!failed) forgetVerdict(paths)
    return failed ? EXIT.failed : EXIT.clean
  } catch (error) {
    const known = knownOf(error, paths)
    announce({ error: known }, `${known.message}\n${known.next}`)
    return hasParent && known.code === 'daemon_running' ? EXIT.taken : known.exit
  }
}

/** A file that could not be written (the token, the parent's note) for want of room or rights is the disk's matter, not ours. */
function knownOf(thrown: unknown, { home }: AppPaths): AppError {
  const error = firstOf(thrown)
  if (error instanceof AppError) return error
  if (classifyDiskError(error)) return unusableDirectory(home, error)
  return new AppError('internal', { problem: messageOf(error) }, error)
}

/** What went wrong first: on a full disk the way out fails too, which says nothing new. */
function firstOf(thrown: unknown): unknown {
  return thrown instanceof SuppressedError ? firstOf(thrown.suppressed) : thrown
}

/** A daemon makes little garbage: without growing room for it, it idles at 88 MB in place of 101 MB (measured from dist). */
function keepYoungHeapSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
}
