import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
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

/** The marker of what the daemon starts for itself (git, tmux), so that code which these are made to run is known by its brand. */
export const HELPER_MARKER = sessionMarker('helper of the daemon')

/** The marker of agents that a person started and whose hooks ask us: what they start never speaks for the person. */
export const OBSERVED_MARKER = sessionMarker('agent of the person')

/**
 * The second form of the marker, a number that survives an emptied environment: the soft limit of file locks. Linux has
 * ignored that limit since 2.4.25, but every child still inherits it and /proc/<pid>/limits shows it.
 */
export function brandOf({ name, value }: Marker): string {
  return createHash('sha256').update(`${name}=${value}`).digest().readUIntBE(0, 6).toString()
}

/**
 * The same command with the brand set. The hard limit becomes one lower than our own: only root can raise it again, so a process that
 * drops its brand is still known to come from a branded one. The shell replaces itself with the command; dash calls this limit -w,
 * bash -x.
 */
export function brandCommand(marker: Marker, command: string, args: string[]): { command: string; args: string[] } {
  if (process.platform !== 'linux') return { command, args }
  const script = `${BRAND_LINE}; shift 2; exec "$@"`
  return { command: '/bin/sh', args: ['-c', script, 'pcc-start', ...brandLimits(marker), command, ...args] }
}

/** A line of a shell script that brands the shell and what it starts; it does nothing on systems without the limit. */
export function brandLine(marker: Marker): string {
  return `set -- ${brandLimits(marker).join(' ')}; ${BRAND_LINE}; shift 2`
}

const BRAND_LINE =
  '{ ulimit -S -w "$1" && ulimit -H -w "$2" || { ulimit -S -x "$1"; ulimit -H -x "$2"; }; } 2>/dev/null'

/** The soft limit, which is the brand, and the hard one: lower than that of a process. */
export function brandLimits(marker: Marker, pid: number | 'self' = 'self'): [soft: string, hard: string] {
  return [brandOf(marker), String(Math.min(HIGHEST, hardLockLimit(pid)) - 1)]
}

/** Far above every brand, and still an exact number. */
const HIGHEST = 2 ** 52

/** The hard limit of file locks of a process (Linux only); endless if it has none, or is gone. */
export function hardLockLimit(pid: number | 'self'): number {
  try {
    const hard = /^Max file locks +\S+ +(\S+) /m.exec(readFileSync(`/proc/${pid}/limits`, 'latin1'))?.[1]
    return hard === undefined || hard === 'unlimited' ? Number.POSITIVE_INFINITY : Number(hard)
  } catch {
    return Number.POSITIVE_INFINITY // it is gone, or this system has no such file
  }
}

/**
 * How many agents are around a process, one inside the other: each that pcc started or that called a hook takes one off the limit. What
 * lowers its own limit only counts as deeper. 0 where the system itself has set a limit.
 */
export function nestingDepth(pid: number): number {
  const taken = HIGHEST - Math.min(HIGHEST, hardLockLimit(pid))
  return taken < DEEPEST ? taken : 0
}

/** A lower limit than this below the highest is not ours. */
const DEEPEST = 1_000

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

  has(marker: string): boolean {
    return existsSync(join(this.#dir, marker))
  }

  all(): string[] {
    return existsSync(this.#dir) ? readdirSync(this.#dir) : []
  }
}
