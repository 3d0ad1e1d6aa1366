import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** A mark on every process that one owner started, so that they can be found again after a crash. */
export interface Marker {
  /** The name of an environment variable. */
  name: string
  value: string
}

/** The marker of an agent: `value` is unguessable and stored in the session's row. */
export function sessionMarker(value: string): Marker {
  return { name: 'PCC_SESSION_MARK', value }
}

/**
 * The second form of the marker, a number that survives an emptied environment: the soft limit of file locks. Linux has
 * ignored that limit since 2.4.25, but every child still inherits it and /proc/<pid>/limits shows it.
 */
export function brandOf({ name, value }: Marker): string {
  return createHash('sha256').update(`${name}=${value}`).digest().readUIntBE(0, 6).toString()
}

/** The same command with the brand set. The shell replaces itself with the command; dash calls this limit -w, bash -x. */
export function brandCommand(marker: Marker, command: string, args: string[]): { command: string; args: string[] } {
  if (process.platform !== 'linux') return { command, args }
  const script = '{ ulimit -S -w "$1" || ulimit -S -x "$1"; } 2>/dev/null; shift; exec "$@"'
  return { command: '/bin/sh', args: ['-c', script, 'pcc-start', brandOf(marker), command, ...args] }
}

/**
 * Markers of processes that are in no row of the store. Each is the name of an empty file, so that the next daemon finds
 * the processes that a killed daemon left behind.
 */
export class MarkerFiles {
  readonly #dir: string

  constructor(directory: string) {
    this.#dir = directory
  }

  /** To be called before the process is started. */
  note(marker: string): void {
    mkdirSync(this.#dir, { recursive: true, mode: 0o700 })
    writeFileSync(join(this.#dir, marker), '', { mode: 0o600 })
  }

  /** To be called when the process is gone, or when its marker is in a row. */
  forget(marker: string): void {
    rmSync(join(this.#dir, marker), { force: true })
  }

  all(): string[] {
    return existsSync(this.#dir) ? readdirSync(this.#dir) : []
  }
}
