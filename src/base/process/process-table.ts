import { readdirSync, readlinkSync } from 'node:fs'
import { ps, readProc } from './ask-system.ts'
import { brandOf, type Marker } from './marker.ts'

export interface ProcessRow {
  pid: number
  parent: number
}

/** Every process this user can see. */
export function processTable(): ProcessRow[] {
  if (process.platform !== 'linux') return rowsOf(ps('-axo', 'pid=,ppid='))
  return linuxPids().flatMap(pid => {
    const parent = /^PPid:\s*(\d+)/m.exec(readProc(`/proc/${pid}/status`))?.[1]
    return parent === undefined ? [] : [{ pid, parent: Number(parent) }]
  })
}

/** The numbers of those that carry exactly this marker: in their environment at their start, or as a brand. */
export function markedPids(marker: Marker): number[] {
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
export function carriedAmong(markers: Marker[]): Set<Marker> {
  if (process.platform !== 'linux') return new Set(markers.filter(marker => markedPids(marker).length > 0))
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
