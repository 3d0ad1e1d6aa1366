import { existsSync } from 'node:fs'
import { dirname, isAbsolute, join } from 'node:path'
import type { AppPaths } from '../../base/app-paths.ts'
import { DOCTOR_SESSION, type HookEvent } from '../../domain/hooks.ts'
import { KeptTexts } from './kept-texts.ts'

/** More sessions than a person has open at once. */
const MOST_REMEMBERED = 500

export interface SessionRoots {
  /** The project that a session of a vendor works in: the one it began in. */
  rootOf(event: HookEvent, env: Record<string, string | undefined>): string
}

/**
 * The project of a session is found at its first event and stays: an agent that changes its directory to `/` must not have the whole
 * disk as its project.
 */
export function openSessionRoots(paths: Pick<AppPaths, 'run'>): SessionRoots {
  const kept = new KeptTexts(paths, 'hook-sessions')
  const remembered = new Map<string, string>()
  return {
    rootOf(event, env) {
      // It has no conversation whose project could stay.
      if (event.session === DOCTOR_SESSION) return findProjectRoot(event.cwd, env['HOME'])
      const name = `${event.vendor}\0${event.session}`
      const known = remembered.get(name)
      if (known !== undefined) return known
      const first = kept.read(name)
      const root = first || findProjectRoot(startDirectory(event, env), env['HOME'])
      if (!first) kept.keep(name, root, { once: true })
      remembered.set(name, root)
      for (const oldest of [...remembered.keys()].slice(0, -MOST_REMEMBERED)) remembered.delete(oldest)
      return root
    },
  }
}

/** Claude Code names the directory in which it was started, whatever its shell has changed to since. */
function startDirectory({ vendor, cwd }: HookEvent, env: Record<string, string | undefined>): string {
  const named = vendor === 'claude' ? env['CLAUDE_PROJECT_DIR'] : undefined
  return named && isAbsolute(named) ? named : cwd
}

/** Signs of the top of a project. */
const TOPS = ['.git', '.perpetualcc.toml', '.perpetualcc']

/**
 * The top of the project that a directory belongs to; the directory itself if it has none. The home directory and those above it are
 * never found from below: a repository of dotfiles there would make everything its project.
 */
function findProjectRoot(directory: string, home: string | undefined): string {
  for (let at = directory; at !== home && at !== dirname(at); at = dirname(at)) {
    if (home?.startsWith(`${at}/`)) break
    if (TOPS.some(name => existsSync(join(at, name)))) return at
  }
  return directory
}
