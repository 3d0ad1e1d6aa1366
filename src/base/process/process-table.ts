import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { brandOf, type Marker } from './marker.ts'

export interface ProcessRow {
  pid: number
  parent: number
}

/** Every process this user can see. */
export function readProcessTable(): ProcessRow[] {
  if (process.platform !== 'linux') return rowsOf(ps('-axo', 'pid=,ppid='))
  return linuxPids().flatMap(pid => {
    const parent = /^PPid:\s*(\d+)/m.exec(readProc(`/proc/${pid}/status`))?.[1]
    return parent === undefined ? [] : [{ pid, parent: Number(parent) }]
  })
}

/** The numbers of those that carry exactly this marker: in their environment at their start, or as a brand. */
export function findMarkedPids(marker: Marker): number[] {
  const entry = `${marker.name}=${marker.value}`
  if (process.platform === 'linux') {
    const brand = new RegExp(`^Max file locks +${brandOf(marker)} `, 'm')
    const carries = (pid: number) => `\0${readProc(`/proc/${pid}/environ`)}`.includes(`\0${entry}\0`)
    return linuxPids().filter(pid => carries(pid) || brand.test(readProc(`/proc/${pid}/limits`)))
  }
  // Best effort: ps shows the environment after the command, separated by spaces, and hides that of protected programs.
  return ps('-axEww', '-o', 'pid=,command=')
    .split('\n')
    .filter(line => ` ${line} `.includes(` ${entry} `))
    .map(line => Number.parseInt(line, 10))
}

/** Which of these markers anybody carries: one look at every process, however many markers there are. */
export function findCarriedMarkers(markers: Marker[]): Set<Marker> {
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

/** These and everything that descends from them. */
export function withDescendants(roots: number[], table: ProcessRow[]): number[] {
  const children = Map.groupBy(table, row => row.parent)
  const found = new Set(roots)
  for (const pid of found) for (const child of children.get(pid) ?? []) found.add(child.pid)
  return [...found]
}

/** The command line, for people. */
export function commandOf(pid: number): string {
  if (process.platform !== 'linux') return ps('-o', 'command=', '-p', String(pid)).trim()
  return readProc(`/proc/${pid}/cmdline`).split('\0').join(' ').trim()
}

/** Where it works; empty when it is gone, belongs to somebody else or cannot be asked on this system. */
export function directoryOf(pid: number): string {
  try {
    return process.platform === 'linux' ? readlinkSync(`/proc/${pid}/cwd`) : ''
  } catch {
    return ''
  }
}

/** Whether a terminal controls it; elsewhere than on Linux nobody asks. The name may hold anything: fields count from its last bracket. */
export function hasTerminal(pid: number): boolean {
  const stat = readProc(`/proc/${pid}/stat`)
  const terminal = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[4]
  return terminal !== undefined && terminal !== '0'
}

function linuxPids(): number[] {
  return readdirSync('/proc').map(Number).filter(Number.isInteger)
}

function rowsOf(lines: string): ProcessRow[] {
  return lines.split('\n').flatMap(line => {
    const [pid, parent] = line.trim().split(/\s+/).map(Number)
    return pid && parent !== undefined ? [{ pid, parent }] : []
  })
}

/** A process that cannot be mistaken for a later one with the same number. */
export interface ProcessIdentity {
  pid: number
  startTime: string
}

/** When the process began, as an opaque text that differs after a reboot too; undefined when it is gone or a zombie. */
export async function startTimeOf(pid: number): Promise<string | undefined> {
  const born = rawStartTime(pid)
  if (born === undefined) return undefined
  return process.platform === 'linux' ? `${bootId()}:${born}` : born
}

/** Whether that very process still runs. */
export async function isAlive({ pid, startTime }: ProcessIdentity): Promise<boolean> {
  const found = await startTimeOf(pid)
  // A file of ours may be damaged: no start time at all must not pass for that of a process which is not there.
  return found !== undefined && found === startTime
}

/** The system's own word for the start: clock ticks since boot on Linux, a date elsewhere. Synchronous, for the moment of a spawn. */
export function rawStartTime(pid: number): string | undefined {
  if (!Number.isInteger(pid) || pid <= 0) return undefined
  try {
    return process.platform === 'linux' ? rawStartTimeOnLinux(pid) : rawStartTimeByPs(pid)
  } catch {
    return undefined // no such process
  }
}

/** Fields are counted after the last bracket: a process may have any name, brackets and spaces included. */
function rawStartTimeOnLinux(pid: number): string | undefined {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19]
}

function rawStartTimeByPs(pid: number): string | undefined {
  const env = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' }
  const line = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { encoding: 'utf8', env }).trim()
  const [state = '', ...date] = line.split(/\s+/)
  return state === '' || state.startsWith('Z') ? undefined : date.join(' ')
}

function bootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
}

/** One process with what it uses. */
export interface ProcessUsage {
  pid: number
  parent: number
  group: number
  /** A signal has stopped it. One that a debugger holds is at work: its debugger is. */
  stopped: boolean
  /** Processor time so far. */
  cpuMs: number
  /** Memory that is resident, pages it shares with others included. */
  residentBytes: number
}

/** Every process this user can see, with what it uses: one small read each. */
export function readProcessUsage(): ProcessUsage[] {
  if (process.platform !== 'linux') return readUsageFromPs()
  return readdirSync('/proc').flatMap(name => (/^\d+$/.test(name) ? readUsageFromProc(Number(name)) : []))
}

/**
 * What these processes use together with shared pages counted once, by splitting them among those who share (PSS). Dearer to
 * read than what is resident, so it is asked only where that seems too much.
 */
export function sumProportionalBytes(figures: readonly ProcessUsage[]): number {
  return figures.reduce((sum, each) => sum + (proportionalBytes(each.pid) ?? each.residentBytes), 0)
}

/** How often its first thread has woken up from waiting; undefined where the system does not tell. */
export function readWakeUps(pid: number): number | undefined {
  const found = /^voluntary_ctxt_switches:\s*(\d+)/m.exec(readProc(`/proc/${pid}/status`))?.[1]
  return found === undefined ? undefined : Number(found)
}

/** A tick as Linux tells it to programs: 100 a second, whatever the kernel itself counts by. */
const TICK_MS = 10
const PAGE_BYTES = process.platform === 'linux' ? pageBytes() : 4096

/** The name of a process may hold anything, brackets too: fields are counted from the last one. */
function readUsageFromProc(pid: number): ProcessUsage[] {
  const text = readProc(`/proc/${pid}/stat`)
  const [state, parent, group, ...rest] = text.slice(text.lastIndexOf(')') + 2).split(' ')
  if (state === undefined || parent === undefined || group === undefined) return []
  // In the numbering of proc(5) `rest` begins with field 6: 14 and 15 are processor time, 24 is what is resident.
  const field = (number: number) => Number(rest[number - 6] ?? 0)
  return [
    {
      pid,
      parent: Number(parent),
      group: Number(group),
      stopped: state === 'T',
      cpuMs: (field(14) + field(15)) * TICK_MS,
      residentBytes: field(24) * PAGE_BYTES,
    },
  ]
}

function proportionalBytes(pid: number): number | undefined {
  const kilobytes = /^Pss:\s+(\d+) kB/m.exec(readProc(`/proc/${pid}/smaps_rollup`))?.[1]
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1024
}

/** The kernel tells every program the size of a page in a small table of numbered values, where it is number 6. */
function pageBytes(): number {
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
          cpuMs: timeMs(time),
          residentBytes: Number(rss) * 1024,
        },
      ]
    })
}

/** `1-02:03:04.50`, `2:03.50`. */
function timeMs(text: string): number {
  const [days, clock = ''] = text.includes('-') ? text.split('-') : ['0', text]
  const seconds = clock.split(':').reduce((sum, part) => sum * 60 + Number(part), 0)
  return (Number(days) * 86_400 + seconds) * 1000
}

/** What the system tells of a process in one of its files; empty when it is gone or belongs to somebody else. */
function readProc(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}

/** What `ps` prints; empty when nothing matches, for which it exits with 1. */
function ps(...args: string[]): string {
  try {
    return execFileSync('ps', args, {
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
      stdio: ['ignore', 'pipe', 'ignore'],
    })
  } catch {
    return ''
  }
}
