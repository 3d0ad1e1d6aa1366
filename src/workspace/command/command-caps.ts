import { readFileSync, statfsSync, statSync } from 'node:fs'
import { totalmem } from 'node:os'
import type { GuardedChild } from '../../base/process/guardian.ts'
import {
  findMarkedPids,
  type ProcessUsage,
  readProcessUsage,
  readWrittenBytes,
  sumProportionalBytes,
  withDescendants,
} from '../../base/process/process-table.ts'
import { sweepMarked } from '../../base/process/sweep.ts'
import { type Config, defaultValues, nestValues } from '../../domain/config/settings.ts'

/** What a gate or a set-up command may use, with everything that it starts. */
export interface CommandCaps {
  memoryBytes: number
  processes: number
  /** What it may write to disks. */
  writtenBytes: number
  /** What it may print. Far more than is kept. */
  outputBytes: number
  /** Space that must stay free on the disks that it writes to. */
  freeBytes: number
}

/** A command was ended because it met a cap. */
export interface CapHit {
  cap: 'memory' | 'processes' | 'written' | 'output' | 'disk'
  /** How much it used, how much is allowed and how that is changed, as the end of a sentence about the command. */
  text: string
}

const MB = 1_048_576
/** The share of the machine's memory that one command may use where nothing else is set. */
const MEMORY_SHARE = 0.75

/** Reads the caps from the settings. Without settings, the defaults apply. */
export function readCommandCaps(
  { gates, data }: Pick<Config, 'gates' | 'data'> = nestValues(defaultValues()),
): CommandCaps {
  return {
    memoryBytes: gates.max_memory_mb === 0 ? readTotalMemory() * MEMORY_SHARE : gates.max_memory_mb * MB,
    processes: gates.max_processes,
    writtenBytes: gates.max_written_mb * MB,
    outputBytes: gates.max_output_mb * MB,
    freeBytes: data.min_free_mb * MB,
  }
}

/** The memory of the machine, or of the container. */
function readTotalMemory(): number {
  return Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY)
}

/** A file may be somewhat longer than all that may be written, so that the watcher, who gives the reason, comes first. */
const FILE_SLACK_BYTES = 1024 * MB

/**
 * `sh -c command`, with what the kernel can do about caps without special rights: no file gets longer than allowed, and if memory
 * runs out nevertheless, the kernel ends this command before anything else.
 */
export function cappedShell(command: string, caps: CommandCaps): { command: string; args: string[] } {
  const script = '{ ulimit -f "$1"; echo 900 >/proc/self/oom_score_adj; } 2>/dev/null; exec /bin/sh -c "$2"'
  // The shell counts in blocks of 512 bytes.
  const blocks = Math.ceil((caps.writtenBytes + FILE_SLACK_BYTES) / 512)
  return { command: '/bin/sh', args: ['-c', script, 'pcc-command', String(blocks), command] }
}

/** The kernel ends a process that writes too long a file with this signal; a shell reports it as an exit code. */
const TOO_LONG_FILE = { signal: 'SIGXFSZ', exit: 128 + 25 }

/** The cap that a command met without being watched at that moment; undefined if it ended for another reason. */
export function capOfEnd(
  { exit, killedBy }: { exit: number | null; killedBy: string | null },
  caps: CommandCaps,
): CapHit | undefined {
  if (killedBy !== TOO_LONG_FILE.signal && exit !== TOO_LONG_FILE.exit) return undefined
  return hit('written', `wrote a file of more than ${formatBytes(caps.writtenBytes)}`, caps.writtenBytes)
}

/** The watcher looks four times a second, less often where a look takes long: it uses a twentieth of a processor at most. */
const LEAST_PAUSE_MS = 250
const MOST_PAUSE_MS = 1_000
const PAUSE_PER_LOOK = 20
/** Without a namespace, orphans that left the process group are found by their marker, which is expensive: every second or so. */
const LOOKS_PER_MARKER_SCAN = 6

/** Watches a command until it is disposed. */
export interface CapWatch extends Disposable {
  /** Aborts when a cap is met, with the `CapHit` as its reason. */
  readonly signal: AbortSignal
  /** Counts what was printed. */
  printed(bytes: number): void
}

export function watchCaps(child: GuardedChild, caps: CommandCaps, folders: readonly string[]): CapWatch {
  const met = new AbortController()
  const look = openLook(child, caps, folders)
  let printed = 0
  let timer: NodeJS.Timeout | undefined
  const arm = (ms: number) => {
    timer = setTimeout(() => {
      const began = performance.now()
      const found = look()
      if (found) met.abort(found)
      else if (!met.signal.aborted)
        arm(Math.min(Math.max((performance.now() - began) * PAUSE_PER_LOOK, LEAST_PAUSE_MS), MOST_PAUSE_MS))
    }, ms)
  }
  arm(LEAST_PAUSE_MS)
  return {
    signal: met.signal,
    printed: bytes => {
      printed += bytes
      if (printed > caps.outputBytes && !met.signal.aborted)
        met.abort(hit('output', `printed ${formatBytes(printed)}`, caps.outputBytes))
    },
    [Symbol.dispose]: () => clearTimeout(timer),
  }
}

/**
 * Ends a command that met a cap, at once: there is no time to be asked nicely. A namespace dies with its first process. Without one,
 * all are stopped before any is killed, in this process: a machine without free process ids could start no other.
 */
export async function endCapped(child: GuardedChild): Promise<void> {
  signalGroup(child, child.level === 'namespace' ? 'SIGKILL' : 'SIGSTOP')
  await sweepMarked(child.marker)
}

function signalGroup({ pid }: GuardedChild, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal)
  } catch {
    // It has just exited.
  }
}

/** Looks once at what a command uses, and returns the cap that it met. */
function openLook(child: GuardedChild, caps: CommandCaps, folders: readonly string[]): () => CapHit | undefined {
  const before = { disks: findDisks(folders, caps), memory: readMachineMemory() }
  let looks = 0
  let marked: number[] = []
  return () => {
    if (child.level === 'marker' && looks++ % LOOKS_PER_MARKER_SCAN === 0) marked = findMarkedPids(child.marker)
    const tree = findTree(child, marked)
    const written = sumKnown(tree.map(({ pid }) => readWrittenBytes(pid)))
    return (
      checkProcesses(tree, caps) ??
      checkMemory(tree, caps, before.memory) ??
      checkWritten(written, caps) ??
      checkDisks(before.disks, written, caps)
    )
  }
}

/** The command with all descendants, what is in its process group, and what carries its marker. */
function findTree({ pid: leader }: GuardedChild, marked: readonly number[]): ProcessUsage[] {
  const all = readProcessUsage().filter(({ pid }) => pid !== process.pid)
  const roots = all.filter(({ pid, group }) => pid === leader || group === leader).map(({ pid }) => pid)
  const inside = new Set(withDescendants([...roots, ...marked], all))
  return all.filter(({ pid }) => inside.has(pid))
}

/** A process with many threads is usual; so many threads that the machine runs out of them are not. */
const THREADS_PER_PROCESS = 16

function checkProcesses(tree: readonly ProcessUsage[], { processes }: CommandCaps): CapHit | undefined {
  const threads = tree.reduce((sum, usage) => sum + usage.threads, 0)
  if (tree.length > processes) return hit('processes', `had ${tree.length} processes at once`, processes)
  if (threads > processes * THREADS_PER_PROCESS)
    return hit('processes', `had ${threads} threads in ${tree.length} processes at once`, processes)
  return undefined
}

/** Below this share of free memory the machine is about to stop working, and a command that uses this share of all is to blame. */
const LEAST_FREE_SHARE = 0.03
const BLAMED_SHARE = 0.25

/** Resident memory counts shared pages several times, so that the exact sum is read where that seems too much. */
function checkMemory(
  tree: readonly ProcessUsage[],
  { memoryBytes }: CommandCaps,
  before: MachineMemory | undefined,
): CapHit | undefined {
  const resident = tree.reduce((sum, { residentBytes }) => sum + residentBytes, 0)
  const bytes = resident <= memoryBytes ? resident : sumProportionalBytes(tree)
  if (bytes > memoryBytes) return hit('memory', `used ${formatBytes(bytes)} of memory`, memoryBytes)
  const now = before && readMachineMemory()
  if (!now || now.available >= now.total * LEAST_FREE_SHARE) return undefined
  // Files in memory (/dev/shm) belong to no process.
  const blamed = bytes + Math.max(0, now.shared - before.shared)
  if (blamed < now.total * BLAMED_SHARE) return undefined
  return hit(
    'memory',
    `used ${formatBytes(blamed)} of memory, and the machine had ${formatBytes(now.available)} left`,
    memoryBytes,
  )
}

interface MachineMemory {
  total: number
  available: number
  shared: number
}

/** Undefined where the system does not tell (Linux does). */
function readMachineMemory(): MachineMemory | undefined {
  try {
    const text = readFileSync('/proc/meminfo', 'latin1')
    const field = (name: string) => Number(new RegExp(`^${name}:\\s*(\\d+) kB`, 'm').exec(text)?.[1]) * 1024
    const memory = { total: field('MemTotal'), available: field('MemAvailable'), shared: field('Shmem') }
    return Object.values(memory).every(Number.isFinite) ? memory : undefined
  } catch {
    return undefined
  }
}

function checkWritten(written: number | undefined, { writtenBytes }: CommandCaps): CapHit | undefined {
  if (written === undefined || written <= writtenBytes) return undefined
  return hit('written', `wrote ${formatBytes(written)}`, writtenBytes)
}

interface Disk {
  folder: string
  freeBytes: number
}

/** The disks of these folders, each once, except those that were full before the command began. */
function findDisks(folders: readonly string[], caps: CommandCaps): Disk[] {
  const devices = new Map<number, Disk>()
  for (const folder of folders) {
    try {
      const { dev } = statSync(folder)
      const freeBytes = readFreeBytes(folder)
      if (!devices.has(dev) && freeBytes >= caps.freeBytes) devices.set(dev, { folder, freeBytes })
    } catch {
      // There is no such folder.
    }
  }
  return [...devices.values()]
}

/** A disk that others filled is not this command's fault; it will fail by itself if it needs the space. */
function checkDisks(disks: readonly Disk[], written: number | undefined, caps: CommandCaps): CapHit | undefined {
  for (const { folder, freeBytes } of disks) {
    const free = readFreeBytes(folder)
    if (free >= caps.freeBytes) continue
    if (written !== undefined && written < (freeBytes - free) / 2) continue
    const wrote = written === undefined ? '' : `wrote ${formatBytes(written)} and `
    return hit('disk', `${wrote}left only ${formatBytes(free)} free on the disk of ${folder}`, caps.freeBytes)
  }
  return undefined
}

function readFreeBytes(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize
  } catch {
    return Number.POSITIVE_INFINITY // the command has removed the folder
  }
}

function sumKnown(numbers: readonly (number | undefined)[]): number | undefined {
  const known = numbers.filter(number => number !== undefined)
  return known.length === 0 ? undefined : known.reduce((sum, number) => sum + number, 0)
}

const SETTING: Record<CapHit['cap'], string> = {
  memory: 'gates.max_memory_mb',
  processes: 'gates.max_processes',
  written: 'gates.max_written_mb',
  output: 'gates.max_output_mb',
  disk: 'data.min_free_mb',
}

function hit(cap: CapHit['cap'], used: string, allowed: number): CapHit {
  const setting = SETTING[cap]
  if (cap === 'disk') return { cap, text: `${used}; ${formatBytes(allowed)} must stay free (${setting})` }
  const [limit, twice] =
    cap === 'processes' ? [`${allowed}`, allowed * 2] : [formatBytes(allowed), Math.ceil((allowed * 2) / MB)]
  const more = `If it needs more: pcc config set ${setting} ${twice}`
  return { cap, text: `${used} with everything that it started; ${limit} are allowed (${setting}). ${more}` }
}

function formatBytes(bytes: number): string {
  return bytes < 10_000 * MB ? `${Math.round(bytes / MB)} MB` : `${(bytes / MB / 1024).toFixed(1)} GB`
}
