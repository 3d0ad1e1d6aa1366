import { realpathSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { isInside } from '../is-inside.ts'
import type { Marker } from './marker.ts'
import {
  commandOf,
  directoryOf,
  findMarkedPids,
  hasTerminal,
  isAlive,
  linuxPids,
  type ProcessIdentity,
  readProcessTable,
  startTimeOf,
  withDescendants,
} from './process-table.ts'
import { runShort } from './run-short.ts'

export interface FoundProcess extends ProcessIdentity {
  command: string
}

export interface SweepResult {
  killed: FoundProcess[]
  /** Processes that were still there at the deadline: in uninterruptible sleep, or not ours to kill. */
  left: FoundProcess[]
}

interface SweepOptions {
  deadlineMs?: number
  signal?: AbortSignal
}

type Find = () => Promise<FoundProcess[]>

/** Every living process that carries the marker or descends from one that does, except this process. */
export async function findMarked(marker: Marker): Promise<FoundProcess[]> {
  const roots = findMarkedPids(marker).filter(pid => pid !== process.pid)
  return roots.length === 0 ? [] : identify(withFamily(roots))
}

/** Kills everything that `findMarked` finds, repeatedly until it finds nothing. */
export function sweepMarked(marker: Marker, options?: SweepOptions): Promise<SweepResult> {
  return sweep(() => findMarked(marker), options)
}

/** Kills one process and all its descendants. A later process with the same pid is left alone. */
export function sweepTree(root: ProcessIdentity, options?: SweepOptions): Promise<SweepResult> {
  return sweep(async () => ((await isAlive(root)) ? identify(withFamily([root.pid])) : []), options)
}

/**
 * Kills the orphans that work in a directory and have no terminal, with all their descendants. Processes with a terminal
 * are spared, because a person may be there with a shell or an editor. Only for directories of our own.
 */
export function sweepDirectory(directory: string, options?: SweepOptions): Promise<SweepResult> {
  return sweep(async () => {
    const roots = findOrphans().filter(pid => isInside(directoryOf(pid), directory) && !hasTerminal(pid))
    return roots.length === 0 ? [] : identify(withFamily(roots))
  }, options)
}

/** The orphans (processes without their parent) that work in one of these directories. They may belong to a person. */
export async function findOrphansIn(directories: string[]): Promise<Map<string, FoundProcess[]>> {
  if (directories.length === 0) return new Map()
  const orphans = findOrphans().map(pid => ({ pid, cwd: directoryOf(pid) }))
  const found = new Map<string, FoundProcess[]>()
  for (const directory of new Set(directories)) {
    const here = orphans.filter(({ cwd }) => isInside(cwd, directory))
    if (here.length > 0) found.set(directory, await identify(here.map(({ pid }) => pid)))
  }
  return found
}

/** An orphan is adopted by pid 1, or by the systemd process of its user. This process itself is left out. */
function findOrphans(): number[] {
  const adoptsOrphans = new Map<number, boolean>([[1, true]])
  return readProcessTable().flatMap(({ pid, parent }) => {
    if (!adoptsOrphans.has(parent)) adoptsOrphans.set(parent, /^\S*systemd --user$/.test(commandOf(parent)))
    return adoptsOrphans.get(parent) && pid !== process.pid ? [pid] : []
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
      killed.set(keyOf(victim), victim)
    }
    await sleep(20, undefined, signal ? { signal } : {})
  }
}

/**
 * A running process can start another between our search and our kill, and a child without the marker is lost once its
 * parent is dead. So all are stopped first, and the search is repeated until it finds nothing new. It is bounded: processes
 * that fork faster than we search are caught in the next round.
 */
async function stopUntilStable(find: Find, first: FoundProcess[]): Promise<FoundProcess[]> {
  let stopped = first
  for (let round = 0; round < 20; round++) {
    for (const target of stopped) if (await isAlive(target)) send(target.pid, 'SIGSTOP')
    const found = await find()
    const before = new Set(stopped.map(keyOf))
    stopped = found
    if (found.every(process => before.has(keyOf(process)))) break
  }
  return stopped
}

function keyOf({ pid, startTime }: ProcessIdentity): string {
  return `${pid} ${startTime}`
}

function withFamily(roots: number[]): number[] {
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
    // The process has just ended or belongs to another user; the next search shows which.
  }
}

/** A process that works in a directory. */
export interface WorkingProcess {
  pid: number
  command: string
}

/** Every process that works in a directory or below it; undefined if this system does not tell. */
export async function findProcessesIn(directory: string): Promise<WorkingProcess[] | undefined> {
  const real = resolvePath(directory)
  const all = process.platform === 'linux' ? readFromProc() : await readFromLsof()
  return all?.filter(({ cwd }) => isInside(cwd, real)).map(({ pid }) => ({ pid, command: commandOf(pid) }))
}

interface ProcessDirectory {
  pid: number
  cwd: string
}

/** A process without a directory is over, or somebody else's. */
function readFromProc(): ProcessDirectory[] {
  return linuxPids().flatMap(pid => {
    const cwd = directoryOf(pid)
    return cwd === '' ? [] : [{ pid, cwd }]
  })
}

/** Parses the machine-readable output of lsof: a line `p<pid>`, then a line `n<path>`. It exits with 1 if it may not see everything. */
export function parseLsof(text: string): ProcessDirectory[] {
  const found: ProcessDirectory[] = []
  let pid = 0
  for (const line of text.split('\n')) {
    if (line.startsWith('p')) pid = Number(line.slice(1))
    if (line.startsWith('n')) found.push({ pid, cwd: line.slice(1) })
  }
  return found
}

async function readFromLsof(): Promise<ProcessDirectory[] | undefined> {
  const args = ['-n', '-P', '-a', '-d', 'cwd', '-F', 'pn']
  const env = { PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin', LC_ALL: 'C' }
  const limits = { timeoutMs: 20_000, maxBytes: 32_000_000 }
  const { stdout } = await runShort({ command: 'lsof', args, cwd: '/', env, ...limits })
  return stdout === '' ? undefined : parseLsof(stdout)
}

function resolvePath(directory: string): string {
  try {
    return realpathSync(directory)
  } catch {
    return directory
  }
}
