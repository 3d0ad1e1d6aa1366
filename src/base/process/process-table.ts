import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { brandOf, hardLockLimit, type Marker } from './marker.ts'
import { runShortSync } from './run-short.ts'

export interface ProcessRow {
  pid: number
  parent: number
}

/** Every process this user can see. */
export function readProcessTable(): ProcessRow[] {
  if (process.platform !== 'linux') return rowsOf(ps('-axo', 'pid=,ppid='))
  return linuxPids().flatMap(pid => {
    const parent = parentOf(pid)
    return parent === undefined ? [] : [{ pid, parent }]
  })
}

/** Whether a process carries exactly this marker, in its initial environment or as a brand. */
export function isMarked(pid: number, marker: Marker, brand = brandOf(marker)): boolean {
  if (process.platform !== 'linux') return findMarkedPids(marker).includes(pid)
  const isInEnvironment = `\0${readProc(`/proc/${pid}/environ`)}`.includes(`\0${marker.name}=${marker.value}\0`)
  return isInEnvironment || /^Max file locks +(\d+) /m.exec(readProc(`/proc/${pid}/limits`))?.[1] === brand
}

/** The pids of the processes that carry exactly this marker. */
export function findMarkedPids(marker: Marker): number[] {
  const brand = brandOf(marker)
  if (process.platform === 'linux') return linuxPids().filter(pid => isMarked(pid, marker, brand))
  const entry = `${marker.name}=${marker.value}`
  // Best effort: ps prints the environment after the command, separated by spaces, and hides it for protected programs.
  return ps('-axEww', '-o', 'pid=,command=')
    .split('\n')
    .filter(line => ` ${line} `.includes(` ${entry} `))
    .map(line => Number.parseInt(line, 10))
}

/** The markers that some process carries. Reads every process once, however many markers there are. */
export function findCarriedMarkers(markers: Marker[]): Set<Marker> {
  if (markers.length === 0) return new Set()
  if (process.platform !== 'linux') return new Set(markers.filter(marker => findMarkedPids(marker).length > 0))
  const byEntry = new Map(markers.map(marker => [`${marker.name}=${marker.value}`, marker]))
  const byBrand = new Map(markers.map(marker => [brandOf(marker), marker]))
  const names = [...new Set(markers.map(({ name }) => name))].join('|')
  const entry = new RegExp(`\\0((?:${names})=[^\\0]*)`, 'g')
  const found = new Set<Marker>()
  const add = (marker: Marker | undefined) => marker && found.add(marker)
  for (const pid of linuxPids()) {
    for (const [, text = ''] of `\0${readProc(`/proc/${pid}/environ`)}`.matchAll(entry)) add(byEntry.get(text))
    add(byBrand.get(/^Max file locks +(\d+) /m.exec(readProc(`/proc/${pid}/limits`))?.[1] ?? ''))
  }
  return found
}

/** These processes and all their descendants. */
export function withDescendants(roots: number[], table: ProcessRow[]): number[] {
  const children = Map.groupBy(table, row => row.parent)
  const found = new Set(roots)
  for (const pid of found) for (const child of children.get(pid) ?? []) found.add(child.pid)
  return [...found]
}

/** The parent of a process (Linux only); undefined if the process is gone. */
export function parentOf(pid: number): number | undefined {
  const parent = /^PPid:\s*(\d+)/m.exec(readProc(`/proc/${pid}/status`))?.[1]
  return parent === undefined ? undefined : Number(parent)
}

/**
 * What a process carries of any of our markers (Linux only): the values in its initial environment; its brand, which is set if the
 * soft limit of file locks is not the usual one; and whether its hard limit is below our own, as that of everything branded is.
 */
export function readMarks(
  pid: number,
  name: string,
): { values: string[]; brand: string | undefined; lowered: boolean } {
  const entries = readProc(`/proc/${pid}/environ`).split('\0')
  const values = entries.flatMap(entry => (entry.startsWith(`${name}=`) ? [entry.slice(name.length + 1)] : []))
  const brand = /^Max file locks +(\d+) /m.exec(readProc(`/proc/${pid}/limits`))?.[1]
  return { values, brand, lowered: hardLockLimit(pid) < hardLockLimit('self') }
}

/** The variables that a process was started with (Linux only); none if it is gone or belongs to somebody else. */
export function environmentOf(pid: number): [name: string, value: string][] {
  return readProc(`/proc/${pid}/environ`)
    .split('\0')
    .flatMap(entry => {
      const [, name, value] = /^([^=]+)=(.*)$/s.exec(entry) ?? []
      return name === undefined || value === undefined ? [] : [[name, value] as [string, string]]
    })
}

/** The command line of a process, to be shown to people. */
export function commandOf(pid: number): string {
  if (process.platform !== 'linux') return ps('-o', 'command=', '-p', String(pid)).trim()
  return readProc(`/proc/${pid}/cmdline`).split('\0').join(' ').trim()
}

/** The words of a process's command line (Linux only); none if it is gone. */
export function commandLineOf(pid: number): string[] {
  return readProc(`/proc/${pid}/cmdline`).split('\0').slice(0, -1)
}

/** The working directory of a process; empty if it is gone, belongs to another user or this system does not tell. */
export function directoryOf(pid: number): string {
  try {
    return process.platform === 'linux' ? readlinkSync(`/proc/${pid}/cwd`) : ''
  } catch {
    return ''
  }
}

/** Whether a process has a controlling terminal (Linux only). */
export function hasTerminal(pid: number): boolean {
  const { terminal } = readTerminal(pid)
  return terminal !== undefined && terminal !== '0'
}

/** Whether a process is the first one of a terminal, as the shell of a person is (Linux only). */
export function leadsTerminal(pid: number): boolean {
  return hasTerminal(pid) && readTerminal(pid).session === String(pid)
}

/** A process's name may contain anything, so fields count from the last bracket. */
function readTerminal(pid: number): { session: string | undefined; terminal: string | undefined } {
  const stat = readProc(`/proc/${pid}/stat`)
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return { session: fields[3], terminal: fields[4] }
}

export function linuxPids(): number[] {
  return readdirSync('/proc').map(Number).filter(Number.isInteger)
}

function rowsOf(lines: string): ProcessRow[] {
  return lines.split('\n').flatMap(line => {
    const [pid, parent] = line.trim().split(/\s+/).map(Number)
    return pid && parent !== undefined ? [{ pid, parent }] : []
  })
}

/** Identifies a process, so that it cannot be mistaken for a later one with the same pid. */
export interface ProcessIdentity {
  pid: number
  startTime: string
}

/** The start time of a process, as an opaque text that differs after a reboot too; undefined if it is gone or a zombie. */
export async function startTimeOf(pid: number): Promise<string | undefined> {
  const born = rawStartTime(pid)
  if (born === undefined) return undefined
  return process.platform === 'linux' ? `${bootId()}:${born}` : born
}

/** Whether exactly this process is still running. */
export async function isAlive({ pid, startTime }: ProcessIdentity): Promise<boolean> {
  const current = await startTimeOf(pid)
  // A damaged file may give no start time at all, which must not equal that of a missing process.
  return current !== undefined && current === startTime
}

/** The start time as the system prints it: clock ticks since boot on Linux, a date elsewhere. Synchronous, to be read right after a spawn. */
export function rawStartTime(pid: number): string | undefined {
  if (!Number.isInteger(pid) || pid <= 0) return undefined
  try {
    return process.platform === 'linux' ? rawStartTimeOnLinux(pid) : rawStartTimeByPs(pid)
  } catch {
    return undefined // no such process
  }
}

/** Fields are counted after the last bracket, because the name of a process may contain brackets and spaces. */
function rawStartTimeOnLinux(pid: number): string | undefined {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19]
}

function rawStartTimeByPs(pid: number): string | undefined {
  const [state = '', ...date] = ps('-o', 'stat=,lstart=', '-p', String(pid)).trim().split(/\s+/)
  return state === '' || state.startsWith('Z') ? undefined : date.join(' ')
}

function bootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
}

/** The resources that one process uses. */
export interface ProcessUsage {
  pid: number
  parent: number
  group: number
  /** Whether a signal has stopped it. A process that a debugger holds counts as working. */
  stopped: boolean
  /** Processor time so far. */
  cpuMs: number
  /** Resident memory, shared pages included. */
  residentBytes: number
  /** One where the system does not tell. */
  threads: number
}

/** Every process this user can see, with the resources it uses. Costs one small read per process. */
export function readProcessUsage(): ProcessUsage[] {
  if (process.platform !== 'linux') return readUsageFromPs()
  return readdirSync('/proc').flatMap(name => (/^\d+$/.test(name) ? readUsageFromProc(Number(name)) : []))
}

/**
 * The memory of these processes together, with shared pages divided among the processes that share them (PSS). It is more
 * expensive to read than the resident size, so it is read only when that seems too large.
 */
export function sumProportionalBytes(processes: readonly ProcessUsage[]): number {
  return processes.reduce((sum, { pid, residentBytes }) => sum + (readProportionalBytes(pid) ?? residentBytes), 0)
}

/**
 * What a process, and those of its children that have ended, have written to disks; undefined if the system does not tell. What was
 * removed before it got there counts too: the system credits that to whoever removed it, not to whoever wrote it.
 */
export function readWrittenBytes(pid: number): number | undefined {
  const written = /^write_bytes: (\d+)/m.exec(readProc(`/proc/${pid}/io`))?.[1]
  return written === undefined ? undefined : Number(written)
}

/** How often the first thread of a process has woken up; undefined if the system does not tell. */
export function readWakeUps(pid: number): number | undefined {
  const count = /^voluntary_ctxt_switches:\s*(\d+)/m.exec(readProc(`/proc/${pid}/status`))?.[1]
  return count === undefined ? undefined : Number(count)
}

/** Linux reports 100 ticks a second to programs, whatever the kernel counts internally. */
const TICK_MS = 10
const PAGE_BYTES = process.platform === 'linux' ? readPageBytes() : 4096

/** Fields are counted after the last bracket, because the name of a process may contain brackets. */
function readUsageFromProc(pid: number): ProcessUsage[] {
  const text = readProc(`/proc/${pid}/stat`)
  const [state, parent, group, ...rest] = text.slice(text.lastIndexOf(')') + 2).split(' ')
  if (state === undefined || parent === undefined || group === undefined) return []
  // In the numbering of proc(5), `rest` begins with field 6. Fields 14 and 15 are processor time, 20 is the number
  // of threads, 24 the resident size.
  const field = (number: number) => Number(rest[number - 6] ?? 0)
  return [
    {
      pid,
      parent: Number(parent),
      group: Number(group),
      stopped: state === 'T',
      cpuMs: (field(14) + field(15)) * TICK_MS,
      residentBytes: field(24) * PAGE_BYTES,
      threads: field(20),
    },
  ]
}

function readProportionalBytes(pid: number): number | undefined {
  const kilobytes = /^Pss:\s+(\d+) kB/m.exec(readProc(`/proc/${pid}/smaps_rollup`))?.[1]
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1024
}

/** The kernel gives every program a small table of numbered values (auxv); number 6 is the page size. */
function readPageBytes(): number {
  const table = Buffer.from(readProc('/proc/self/auxv'), 'latin1')
  for (let at = 0; at + 16 <= table.length; at += 16) {
    if (table.readBigUInt64LE(at) === 6n) return Number(table.readBigUInt64LE(at + 8))
  }
  return 4096
}

function readUsageFromPs(): ProcessUsage[] {
  return ps('-axo', 'pid=,ppid=,pgid=,state=,time=,rss=')
    .split('\n')
    .flatMap(line => {
      const [pid, parent, group, state = '', time = '', rss] = line.trim().split(/\s+/)
      if (!pid || rss === undefined) return []
      return [
        {
          pid: Number(pid),
          parent: Number(parent),
          group: Number(group),
          stopped: state.startsWith('T'),
          cpuMs: parseTimeMs(time),
          residentBytes: Number(rss) * 1024,
          threads: 1,
        },
      ]
    })
}

/** Parses `1-02:03:04.50` and `2:03.50`. */
function parseTimeMs(text: string): number {
  const [days, clock = ''] = text.includes('-') ? text.split('-') : ['0', text]
  const seconds = clock.split(':').reduce((sum, part) => sum * 60 + Number(part), 0)
  return (Number(days) * 86_400 + seconds) * 1000
}

/** The content of a file in /proc; empty if the process is gone or belongs to another user. */
function readProc(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}

/** The output of `ps`; empty if nothing matches, in which case `ps` exits with 1. */
function ps(...args: string[]): string {
  const env = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' }
  const limits = { timeoutMs: 20_000, maxBytes: 64 * 1024 * 1024 }
  const { code, stdout } = runShortSync({ command: 'ps', args, cwd: '/', env, ...limits })
  return code === 0 ? stdout : ''
}
