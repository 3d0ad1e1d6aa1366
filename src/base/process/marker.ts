import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** What everything one owner started carries, so that its processes are found again after any accident. */
export interface Marker {
  /** A variable of the environment. */
  name: string
  value: string
}

/** The marker of an agent: `value` is unguessable and kept in the session's row. */
export function sessionMarker(value: string): Marker {
  return { name: 'PCC_SESSION_MARK', value }
}

/**
 * The marker's second form, a number that survives an emptied environment: the soft limit of file locks, which Linux has
 * ignored since 2.4.25 but still hands down to every child and shows in /proc/<pid>/limits.
 */
export function brandOf({ name, value }: Marker): string {
  return createHash('sha256').update(`${name}=${value}`).digest().readUIntBE(0, 6).toString()
}

/** The same command, carrying the brand. The shell is replaced by the command; dash calls this limit -w, bash -x. */
export function brandCommand(marker: Marker, command: string, args: string[]): { command: string; args: string[] } {
  if (process.platform !== 'linux') return { command, args }
  const script = '{ ulimit -S -w "$1" || ulimit -S -x "$1"; } 2>/dev/null; shift; exec "$@"'
  return { command: '/bin/sh', args: ['-c', script, 'pcc-start', brandOf(marker), command, ...args] }
}

/**
 * Markers of processes that no row knows of. Each is the name of an empty file, so that the next daemon finds what this one
 * leaves behind when it is killed.
 */
export class MarkerFiles {
  readonly #dir: string

  constructor(directory: string) {
    this.#dir = directory
  }

  /** Before the process is started. */
  note(marker: string): void {
    mkdirSync(this.#dir, { recursive: true, mode: 0o700 })
    writeFileSync(join(this.#dir, marker), '', { mode: 0o600 })
  }

  /** When the process is gone, or its marker stands in a row. */
  forget(marker: string): void {
    rmSync(join(this.#dir, marker), { force: true })
  }

  all(): string[] {
    return existsSync(this.#dir) ? readdirSync(this.#dir) : []
  }
}
