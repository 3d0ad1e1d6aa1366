import { accessSync, constants, statfsSync } from 'node:fs'
import { messageOf } from '../base/errors.ts'
import type { Log } from '../base/log.ts'

export type DiskState = 'ok' | 'full' | 'read_only'

export interface DiskReport {
  state: DiskState
  /** For people; empty if all is well. */
  reason: string
}

const OK: DiskReport = { state: 'ok', reason: '' }
const MB = 1024 * 1024

/** The state of the directory right now. This takes a few microseconds, so nothing is cached. */
export function readDiskReport(dir: string, minFreeMb: number): DiskReport {
  try {
    accessSync(dir, constants.W_OK)
    const freeMb = Math.floor(readFreeBytes(dir) / MB)
    if (freeMb >= minFreeMb) return OK
    return {
      state: 'full',
      reason: `only ${freeMb} MB are free in ${dir}; at least ${minFreeMb} MB are needed (data.min_free_mb)`,
    }
  } catch (error) {
    return classifyDiskError(error) ?? OK
  }
}

/** What a failed write says about the disk; undefined if it failed for another reason. */
export function classifyDiskError(error: unknown): DiskReport | undefined {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    const state = STATES[codeOf(cause)]
    if (state) return { state, reason: messageOf(error) }
  }
  return undefined
}

/** The space that is left for a user without special rights. */
export function readFreeBytes(dir: string): number {
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

/** The time between two checks while sessions run; a disk does not fill up faster than the low-water mark allows for. */
const CHECK_EVERY_MS = 15_000

export interface WatchDisk {
  dir: string
  minFreeMb: number
  log: Log
  /** Whether any session is at work. */
  busy(): boolean
  /** Nothing new may start, and what runs must stop softly. Called again with every check while that lasts. */
  held(report: DiskReport): void
  /** Proves by a write that there is space again; it rejects if there is not. */
  prove(): Promise<unknown>
  /** There is space again. */
  freed(): void
  look?: typeof readDiskReport
}

export interface Disk extends Disposable {
  report(): DiskReport
  /** Why nothing may start now; undefined if it may. A start also begins the regular checks. */
  mayStart(): string | undefined
  /** A write has failed. */
  failed(error: unknown): void
  /** Checks now, as the timer does. */
  tick(): Promise<void>
}

/**
 * Decides whether work may go on: by the free space, and by writes that failed for lack of it (a disk quota shows in no other
 * way). Such a failure counts until a write succeeds. While no session is at work and all is well, no timer runs.
 */
export function watchDisk({ dir, minFreeMb, log, busy, held, prove, freed, look = readDiskReport }: WatchDisk): Disk {
  let failure: DiskReport | undefined
  let reported: DiskReport['state'] = 'ok'
  let timer: NodeJS.Timeout | undefined
  let isProving = false

  const report = () => {
    const current = look(dir, minFreeMb)
    return current.state === 'ok' ? (failure ?? current) : current
  }
  const watch = () => {
    timer ??= setInterval(() => void tick(), CHECK_EVERY_MS).unref()
  }
  const hold = (current: DiskReport) => {
    if (current.state !== reported)
      log.error({ ...current }, 'the disk cannot be written to: nothing new starts, sessions pause')
    reported = current.state
    held(current)
  }
  const tick = async () => {
    const current = report()
    if (current.state !== 'ok') hold(current)
    if (look(dir, minFreeMb).state === 'ok' && reported !== 'ok' && !isProving) await tryToWrite()
    if (reported === 'ok' && !busy()) stop()
  }
  const tryToWrite = async () => {
    isProving = true
    try {
      await prove()
      failure = undefined
      reported = 'ok'
      log.info({}, 'the disk can be written to again')
      freed()
    } catch (error) {
      failure = classifyDiskError(error) ?? failure
    } finally {
      isProving = false
    }
  }
  const stop = () => {
    clearInterval(timer)
    timer = undefined
  }
  return {
    report,
    mayStart() {
      watch()
      const { state, reason } = report()
      return state === 'ok' ? undefined : reason
    },
    failed(error) {
      const problem = classifyDiskError(error)
      if (!problem) return
      failure = problem
      watch()
      hold(problem)
    },
    tick,
    [Symbol.dispose]: stop,
  }
}
