import { readdirSync } from 'node:fs'
import { ps, readProc } from './ask-system.ts'

/** One process with what it uses. */
export interface ProcessFigures {
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
export function processFigures(): ProcessFigures[] {
  if (process.platform !== 'linux') return figuresOfPs()
  return readdirSync('/proc').flatMap(name => (/^\d+$/.test(name) ? figuresIn(Number(name)) : []))
}

/**
 * What these processes use together with shared pages counted once, by splitting them among those who share (PSS). Dearer to
 * read than what is resident, so it is asked only where that seems too much.
 */
export function sharedOutBytes(figures: readonly ProcessFigures[]): number {
  return figures.reduce((sum, each) => sum + (proportionalBytes(each.pid) ?? each.residentBytes), 0)
}

/** How often its first thread has woken up from waiting; undefined where the system does not tell. */
export function wakeUpsOf(pid: number): number | undefined {
  const found = /^voluntary_ctxt_switches:\s*(\d+)/m.exec(readProc(`/proc/${pid}/status`))?.[1]
  return found === undefined ? undefined : Number(found)
}

/** A tick as Linux tells it to programs: 100 a second, whatever the kernel itself counts by. */
const TICK_MS = 10
const PAGE_BYTES = process.platform === 'linux' ? pageBytes() : 4096

/** The name of a process may hold anything, brackets too: fields are counted from the last one. */
function figuresIn(pid: number): ProcessFigures[] {
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

function figuresOfPs(): ProcessFigures[] {
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
