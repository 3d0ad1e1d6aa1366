import type { AppPaths } from '../base/app-paths.ts'
import { AppError, messageOf } from '../base/errors.ts'
import { shortId } from '../base/ids.ts'
import { pathOutsideProjects, withWholePath } from '../base/search-path.ts'
import { classifyDiskError } from './disk.ts'
import { takeLock } from './lock.ts'
import { EXIT, findRestarter, forgetVerdict, recordParent } from './parent-process.ts'
import { growYoungHeap, makeDirectories, openAnnouncer, unusableDirectory } from './startup.ts'

export interface RunDaemon {
  paths: AppPaths
  env: Record<string, string | undefined>
  /** A person watches: log lines go to standard error as well as to the file. */
  foreground?: boolean
}

/**
 * The daemon's whole life: take the lock, serve, drain, and return the exit code. The lock is taken before anything slow is
 * loaded, so that when many start at once, all but one leave at once.
 */
export async function runDaemon({ paths, foreground = false, ...daemon }: RunDaemon): Promise<number> {
  const env = withWholePath(daemon.env)
  process.env['PATH'] = pathOutsideProjects(env['PATH']) // for what pcc runs for itself; agents and gates get that of `env`
  growYoungHeap(false)
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
    const problem = toAppError(error, paths)
    announce({ error: problem }, `${problem.message}\n${problem.next}`)
    return hasParent && problem.code === 'daemon_running' ? EXIT.taken : problem.exit
  }
}

/** A file (the token, the parent's note) that could not be written for lack of space or rights is reported as a disk problem. */
function toAppError(thrown: unknown, { home }: AppPaths): AppError {
  const error = firstError(thrown)
  if (error instanceof AppError) return error
  if (classifyDiskError(error)) return unusableDirectory(home, error)
  return new AppError('internal', { problem: messageOf(error) }, error)
}

/** The error that came first: on a full disk the cleanup fails too, and that failure says nothing new. */
function firstError(thrown: unknown): unknown {
  return thrown instanceof SuppressedError ? firstError(thrown.suppressed) : thrown
}
