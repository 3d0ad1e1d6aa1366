import { closeSync, mkdirSync, openSync } from 'node:fs'
import { join } from 'node:path'
import type { SandboxAsked } from '../../domain/agents/sandbox.ts'
import { includedSettings } from './included-settings.ts'

/** What of a repository may be written, what may not though it lies in that, and what may again though it lies in that. */
export interface GitParts {
  writable: string[]
  kept: string[]
  regained: string[]
}

/**
 * An agent commits into the repository that all checkouts share; what makes git run something is not its to change. In a worktree only
 * what a commit needs may be written: by a `commondir` in the shared folder, or in that of another worktree, git would read a `config`
 * of the agent's. In the main checkout git writes beside it, so there what is known to be dangerous may not be written, and what cannot be
 * held is looked for (planted.ts).
 */
export function gitParts({ top, own, common }: NonNullable<SandboxAsked['git']>): GitParts {
  const inCommon = (...names: string[]) => names.map(name => join(common, name))
  makeThere(own)
  if (own === common) {
    for (const folder of inCommon('hooks', 'worktrees')) mkdirSync(folder, { recursive: true })
    const kept = [...inCommon('config', 'config.worktree', 'hooks', 'worktrees', 'modules'), ...includedSettings(top)]
    // By itself too: a directory that is mounted cannot be moved out of the way.
    return { writable: [common], kept, regained: [] }
  }
  for (const folder of inCommon('objects', 'refs', 'logs')) mkdirSync(folder, { recursive: true })
  const ownKept = ['commondir', 'gitdir', 'config.worktree'].map(name => join(own, name))
  return {
    writable: [],
    kept: [common, join(top, '.git'), ...ownKept, ...includedSettings(top)],
    regained: [own, ...inCommon('objects', 'refs', 'logs', 'reftable', 'lfs')],
  }
}

/** Read where a repository says that its worktrees have settings of their own; an empty one changes nothing. */
function makeThere(own: string): void {
  closeSync(openSync(join(own, 'config.worktree'), 'a'))
}
