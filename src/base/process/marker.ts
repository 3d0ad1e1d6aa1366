import { createHash } from 'node:crypto'

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
export function branded(marker: Marker, command: string, args: string[]): { command: string; args: string[] } {
  if (process.platform !== 'linux') return { command, args }
  const script = '{ ulimit -S -w "$1" || ulimit -S -x "$1"; } 2>/dev/null; shift; exec "$@"'
  return { command: '/bin/sh', args: ['-c', script, 'pcc-start', brandOf(marker), command, ...args] }
}
