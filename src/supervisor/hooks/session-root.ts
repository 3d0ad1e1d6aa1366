import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, isAbsolute, join } from 'node:path'
import type { AppPaths } from '../../base/app-paths.ts'
import { DOCTOR_SESSION, type HookEvent } from '../../domain/hooks.ts'

/** More sessions than a person has open at once. */
const MOST_REMEMBERED = 500

export interface SessionRoots {
  /** The project that a session of a vendor works in: the one it began in. */
  rootOf(event: HookEvent, env: Record<string, string | undefined>): string
}

/**
 * The project of a session is found at its first event and stays: an agent that changes its directory to `/` must not have the whole
 * disk as its project. It is kept in a file for each session, because a hook may have no daemon to remember it.
 */
export function openSessionRoots({ run }: Pick<AppPaths, 'run'>): SessionRoots {
  const remembered = new Map<string, string>()
  return {
    rootOf(event, env) {
      // It has no conversation whose project could stay.
      if (event.session === DOCTOR_SESSION) return findProjectRoot(event.cwd, env['HOME'])
      const name = fileName(event)
      const known = remembered.get(name)
      if (known !== undefined) return known
      const file = join(run, 'hook-sessions', name)
      const kept = readRoot(file)
      const root = kept ?? findProjectRoot(startDirectory(event, env), env['HOME'])
      if (kept === undefined) keepRoot(file, root)
      remembered.set(name, root)
      for (const oldest of [...remembered.keys()].slice(0, -MOST_REMEMBERED)) remembered.delete(oldest)
      return root
    },
  }
}

/** Ids of conversations are plain words; any other is hashed, so that it is no path. Hashing takes milliseconds to load. */
function fileName({ vendor, session }: HookEvent): string {
  if (/^[\w-]{1,80}$/.test(session)) return `${vendor}.${session}`
  return createHash('sha256').update(`${vendor}\0${session}`).digest('hex').slice(0, 32)
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

function readRoot(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8') || undefined
  } catch {
    return undefined // the first event of this session
  }
}

/** The first of two hooks at once wins; both found the same. */
function keepRoot(file: string, root: string): void {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    writeFileSync(file, root, { mode: 0o600, flag: 'wx' })
  } catch {
    // It is there already; or the disk is full, and then the next event finds the project again.
  }
}
