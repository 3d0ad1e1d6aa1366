import { accessSync, constants, statfsSync } from 'node:fs'
import { messageOf } from '../../base/errors.ts'

export type DiskState = 'ok' | 'full' | 'read_only'

export interface DiskReport {
  state: DiskState
  /** For people; empty where all is well. */
  reason: string
}

const OK: DiskReport = { state: 'ok', reason: '' }
const MB = 1024 * 1024

/** How the directory stands right now: a few microseconds, so it is asked for anew each time. */
export function diskReport(dir: string, minFreeMb: number): DiskReport {
  try {
    accessSync(dir, constants.W_OK)
    const freeMb = Math.floor(freeBytesOf(dir) / MB)
    if (freeMb >= minFreeMb) return OK
    return { state: 'full', reason: `only ${freeMb} MB are free in ${dir}; ${minFreeMb} MB must be (data.min_free_mb)` }
  } catch (error) {
    return troubleOf(error) ?? OK
  }
}

/** What a write that failed says about the disk; nothing where it failed for another reason. */
export function troubleOf(error: unknown): DiskReport | undefined {
  for (let one: unknown = error; one instanceof Error; one = one.cause) {
    const state = STATES[codeOf(one)]
    if (state) return { state, reason: messageOf(error) }
  }
  return undefined
}

/** What is left for somebody without special rights. */
export function freeBytesOf(dir: string): number {
  const { bavail, bsize } = statfsSync(dir)
  return bavail * bsize
}

/** Codes of the file system, and SQLite's: https://www.sqlite.org/rescode.html */
const STATES: Record<string, DiskState> = {
  ENOSPC: 'full',
  EDQUOT: 'full',
  'sqlite 13': 'full',
  EROFS: 'read_only',
  EACCES: 'read_only',
  EPERM: 'read_only',
  'sqlite 8': 'read_only',
}

function codeOf(error: Error): string {
  if ('errcode' in error && typeof error.errcode === 'number') return `sqlite ${error.errcode & 0xff}`
  return 'code' in error ? String(error.code) : ''
}
