import { lstatSync, rmSync, watch } from 'node:fs'
import { join } from 'node:path'
import type { SandboxAsked } from '../../domain/agents/sandbox.ts'

/** By this file git reads the settings of a repository, and with them what it starts, from somewhere else. */
const NAME = 'commondir'

export interface Guarded extends Disposable {
  /** Aborted, with what was found, when the agent has put it there. */
  readonly breached: AbortSignal
}

/**
 * In a main checkout git writes beside its settings, so that the folder itself cannot be closed; and an empty `commondir`, which could be
 * held where it is, would stop every git outside. So it is looked for as long as the agent runs, and once more when all of it is gone: what
 * is found is taken away.
 */
export function guardGit(git: SandboxAsked['git'], { reading }: { reading: boolean }): Guarded {
  const breach = new AbortController()
  const file = git && !reading && git.own === git.common ? join(git.common, NAME) : undefined
  if (file === undefined || !git || isThere(file)) return { breached: breach.signal, [Symbol.dispose]: () => undefined }
  const look = () => {
    if (!isThere(file)) return
    rmSync(file, { recursive: true, force: true })
    breach.abort(new Error(`it has put a ${NAME} into ${git.common}, by which git outside would run what it says`))
  }
  const watcher = watch(git.common, { persistent: false }, (_, name) => {
    if (name === NAME || name === null) look()
  })
  // A folder that can be watched no more is looked at at the end.
  watcher.on('error', () => undefined)
  look()
  return {
    breached: breach.signal,
    [Symbol.dispose]: () => {
      watcher.close()
      look()
    },
  }
}

function isThere(file: string): boolean {
  return lstatSync(file, { throwIfNoEntry: false }) !== undefined
}
