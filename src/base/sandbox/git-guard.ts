import { lstatSync, rmSync, watch } from 'node:fs'
import { join } from 'node:path'
import type { SandboxSettings } from './settings.ts'

/** This file makes git read the settings of a repository, and with them programs to start, from somewhere else. */
const COMMONDIR = 'commondir'

/** Where an agent in a main checkout could create that file; undefined in a worktree, where it cannot. */
export function plantableFile(git: SandboxSettings['git']): string | undefined {
  return git && git.own === git.common ? join(git.common, COMMONDIR) : undefined
}

export interface GitGuard extends Disposable {
  /** Looks for the file now. */
  check(): void
  /** Aborts, with the reason, when the agent has created the file. */
  readonly breached: AbortSignal
}

/**
 * Removes a `commondir` that the agent creates. In a main checkout git writes beside its settings, so the folder itself cannot be made
 * read-only; and an empty `commondir`, which could be mounted read-only, would break every git outside. So the folder is watched while the
 * agent runs, and checked once more when the agent and its processes are gone.
 */
export function guardGit(
  git: SandboxSettings['git'],
  { reading, isAdopted = false }: { reading: boolean; isAdopted?: boolean },
): GitGuard {
  const breach = new AbortController()
  const file = reading ? undefined : plantableFile(git)
  if (file === undefined || !git || (exists(file) && !isAdopted))
    return { breached: breach.signal, check: () => undefined, [Symbol.dispose]: () => undefined }
  const check = () => {
    if (!exists(file)) return
    rmSync(file, { recursive: true, force: true })
    breach.abort(new Error(`it has put a ${COMMONDIR} into ${git.common}, by which git outside would run what it says`))
  }
  const watcher = watch(git.common, { persistent: false }, (_, name) => {
    if (name === COMMONDIR || name === null) check()
  })
  // A folder that cannot be watched any more is still checked at the end.
  watcher.on('error', () => undefined)
  check()
  return {
    breached: breach.signal,
    check,
    [Symbol.dispose]: () => {
      watcher.close()
      check()
    },
  }
}

function exists(file: string): boolean {
  return lstatSync(file, { throwIfNoEntry: false }) !== undefined
}
