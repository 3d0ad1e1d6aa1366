import { execFile } from 'node:child_process'
import { realpathSync } from 'node:fs'
import { sep } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Marker } from './marker.ts'
import {
  commandOf,
  directoryOf,
  findMarkedPids,
  hasTerminal,
  isAlive,
  type ProcessIdentity,
  readProcessTable,
  startTimeOf,
  withDescendants,
} from './process-table.ts'

export interface FoundProcess extends ProcessIdentity {
  command: string
}

export interface SweepResult {
  killed: FoundProcess[]
  /** Still there at the deadline: in uninterruptible sleep, or not ours to kill. */
  left: FoundProcess[]
}

interface SweepOptions {
  deadlineMs?: number
  signal?: AbortSignal
}

type Find = () => Promise<FoundProcess[]>

/** Every living process that carries the marker or descends from one that does; never ourselves. */
export async function findMarked(marker: Marker): Promise<FoundProcess[]> {
  const roots = findMarkedPids(marker).filter(pid => pid !== process.pid)
  return roots.length === 0 ? [] : identify(familyOf(roots))
}

/** Kills all that `findMarked` finds, again and again until nothing is found. */
export function sweepMarked(marker: Marker, options?: SweepOptions): Promise<SweepResult> {
  return sweep(() => findMarked(marker), options)
}

/** The same for one process and everything that descends from it. A later process of the same number is left alone. */
export function sweepTree(root: ProcessIdentity, options?: SweepOptions): Promise<SweepResult> {
  return sweep(async () => ((await isAlive(root)) ? identify(familyOf([root.pid])) : []), options)
}

/**
 * The same for what works in a directory, nobody looks after any more and has no terminal, with all that descends from it:
 * a person may have gone there with a shell or an editor. For directories of our own only.
 */
export function sweepDirectory(directory: string, options?: SweepOptions): Promise<SweepResult> {
  return sweep(async () => {
    const roots = orphans().filter(pid => isInside(directoryOf(pid), directory) && !hasTerminal(pid))
    return roots.length === 0 ? [] : identify(familyOf(roots))
  }, options)
}

/** Those that work in one of these directories and that nobody looks after any more: their parent is gone. They may be a person's own. */
export async function findOrphansIn(directories: string[]): Promise<Map<string, FoundProcess[]>> {
  const paths = orphans().map(pid => ({ pid, cwd: directoryOf(pid) }))
  const found = new Map<string, FoundProcess[]>()
  for (const directory of new Set(directories)) {
    const here = paths.filter(({ cwd }) => isInside(cwd, directory))
    if (here.length > 0) found.set(directory, await identify(here.map(({ pid }) => pid)))
  }
  return found
}

/** An orphan is given to the first process, or to the one that systemd has for each user; never ourselves. */
function orphans(): number[] {
  const isKeeper = new Map<number, boolean>([[1, true]])
  return readProcessTable().flatMap(({ pid, parent }) => {
    if (!isKeeper.has(parent)) isKeeper.set(parent, /^\S*systemd --user$/.test(commandOf(parent)))
    return isKeeper.get(parent) && pid !== process.pid ? [pid] : []
  })
}

async function sweep(find: Find, { deadlineMs = 10_000, signal }: SweepOptions = {}): Promise<SweepResult> {
  const killed = new Map<string, FoundProcess>()
  const end = Date.now() + deadlineMs
  for (;;) {
    const found = await find()
    if (found.length === 0) return { killed: [...killed.values()], left: [] }
    if (Date.now() > end) return { killed: [...killed.values()], left: found }
    for (const victim of await stopUntilStable(find, found)) {
      if (await isAlive(victim)) send(victim.pid, 'SIGKILL')
      killed.set(`${victim.pid} ${victim.startTime}`, victim)
    }
    await sleep(20, undefined, signal ? { signal } : {})
  }
}

/**
 * A running process can start another between our look and our kill, and a child without the marker is lost once its parent
 * is dead. So all are stopped first, and looked for again, until a look finds nobody new. Bounded: whoever forks faster than
 * we look is met again in the next round.
 */
async function stopUntilStable(find: Find, first: FoundProcess[]): Promise<FoundProcess[]> {
  let known = first
  for (let round = 0; round < 20; round++) {
    for (const one of known) if (await isAlive(one)) send(one.pid, 'SIGSTOP')
    const now = await find()
    const before = new Set(known.map(one => `${one.pid} ${one.startTime}`))
    known = now
    if (now.every(one => before.has(`${one.pid} ${one.startTime}`))) break
  }
  return known
}

/** A directory is its own and everything below it. */
function isInside(cwd: string, directory: string): boolean {
  return cwd === directory || cwd.startsWith(`${directory}/`)
}

function familyOf(roots: number[]): number[] {
  const others = readProcessTable().filter(row => row.pid !== process.pid)
  return withDescendants(roots, others)
}

async function identify(pids: number[]): Promise<FoundProcess[]> {
  const found: FoundProcess[] = []
  for (const pid of pids) {
    const startTime = await startTimeOf(pid)
    if (startTime !== undefined) found.push({ pid, startTime, command: commandOf(pid) })
  }
  return found
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // Gone in this instant, or another user's: the next look says which.
  }
}

/** A process and the directory in which it works. */
export interface WorkingProcess {
  pid: number
  command: string
}

/** Every process that works in a directory or below it; undefined where this system does not tell. */
export async function findProcessesIn(directory: string): Promise<WorkingProcess[] | undefined> {
  const real = resolved(directory)
  const everyone = process.platform === 'linux' ? fromProc() : await fromLsof()
  return everyone
    ?.filter(({ cwd }) => cwd === real || cwd.startsWith(`${real}${sep}`))
    .map(({ pid }) => ({ pid, command: commandOf(pid) }))
}

interface ProcessDirectory {
  pid: number
  cwd: string
}

function fromProc(): ProcessDirectory[] {
  return readProcessTable().map(({ pid }) => ({ pid, cwd: directoryOf(pid) }))
}

/** What lsof prints for other programs: a line `p<pid>`, then a line `n<path>`. It exits with 1 where it may not see everything. */
export function parseLsof(text: string): ProcessDirectory[] {
  const found: ProcessDirectory[] = []
  let pid = 0
  for (const line of text.split('\n')) {
    if (line.startsWith('p')) pid = Number(line.slice(1))
    if (line.startsWith('n')) found.push({ pid, cwd: line.slice(1) })
  }
  return found
}

async function fromLsof(): Promise<ProcessDirectory[] | undefined> {
  const options = { timeout: 20_000, maxBuffer: 32_000_000 }
  const { stdout } = await promisify(execFile)('lsof', ['-n', '-P', '-a', '-d', 'cwd', '-F', 'pn'], options).catch(
    (error: { stdout?: string }) => ({ stdout: error.stdout ?? '' }),
  )
  return stdout === '' ? undefined : parseLsof(stdout)
}

function resolved(directory: string): string {
  try {
    return realpathSync(directory)
  } catch {
    return directory
  }
}
