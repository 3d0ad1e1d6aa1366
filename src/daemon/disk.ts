import { accessSync, constants, statfsSync } from 'node:fs'
import { messageOf } from '../base/errors.ts'
import type { Log } from '../base/log.ts'

export type DiskState = 'ok' | 'full' | 'read_only'

export interface DiskReport {
  state: DiskState
  /** For people; empty where all is well. */
  reason: string
}

const OK: DiskReport = { state: 'ok', reason: '' }
const MB = 1024 * 1024

/** How the directory stands right now: a few microseconds, so it is asked for anew each time. */
export function readDiskReport(dir: string, minFreeMb: number): DiskReport {
  try {
    accessSync(dir, constants.W_OK)
    const freeMb = Math.floor(readFreeBytes(dir) / MB)
    if (freeMb >= minFreeMb) return OK
    return { state: 'full', reason: `only ${freeMb} MB are free in ${dir}; ${minFreeMb} MB must be (data.min_free_mb)` }
  } catch (error) {
    return classifyDiskError(error) ?? OK
  }
}

/** What a write that failed says about the disk; nothing where it failed for another reason. */
export function classifyDiskError(error: unknown): DiskReport | undefined {
  for (let one: unknown = error; one instanceof Error; one = one.cause) {
    const state = STATES[codeOf(one)]
    if (state) return { state, reason: messageOf(error) }
  }
  return undefined
}

/** What is left for somebody without special rights. */
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

/** Between two looks while sessions run; a disk does not fill up faster than the low-water mark allows for. */
const EVERY_MS = 15_000

export interface WatchDisk {
  dir: string
  minFreeMb: number
  log: Log
  /** Whether there is anything to look after. */
  busy(): boolean
  /** Nothing new may start; what runs is to stop softly. Said again with every look while it lasts. */
  held(report: DiskReport): void
  /** Proves by a write that there is space again; a rejection says that there is not. */
  prove(): Promise<unknown>
  /** There is space again. */
  freed(): void
  look?: typeof readDiskReport
}

export interface Disk extends Disposable {
  report(): DiskReport
  /** Why nothing may start now; and a start is a reason to look after the disk from now on. */
  mayStart(): string | undefined
  /** A write has failed. */
  failed(error: unknown): void
  /** Looks now, as the timer does. */
  tick(): Promise<void>
}

/**
 * Knows whether work may go on: by the free space, and by writes that failed for want of it (a quota shows as nothing else).
 * Such a failure counts until a write succeeds. With no session at work and all well it does nothing at all.
 */
export function watchDisk({ dir, minFreeMb, log, busy, held, prove, freed, look = readDiskReport }: WatchDisk): Disk {
  let trouble: DiskReport | undefined
  let told: DiskReport['state'] = 'ok'
  let timer: NodeJS.Timeout | undefined
  let proving = false

  const report = () => {
    const found = look(dir, minFreeMb)
    return found.state === 'ok' ? (trouble ?? found) : found
  }
  const watch = () => {
    timer ??= setInterval(() => void tick(), EVERY_MS).unref()
  }
  const tell = (now: DiskReport) => {
    if (now.state !== told) log.error({ ...now }, 'the disk cannot be written to: nothing new starts, sessions pause')
    told = now.state
    held(now)
  }
  const tick = async () => {
    const now = report()
    if (now.state !== 'ok') tell(now)
    if (look(dir, minFreeMb).state === 'ok' && told !== 'ok' && !proving) await proved()
    if (told === 'ok' && !busy()) stop()
  }
  const proved = async () => {
    proving = true
    try {
      await prove()
      trouble = undefined
      told = 'ok'
      log.info({}, 'the disk can be written to again')
      freed()
    } catch (error) {
      trouble = classifyDiskError(error) ?? trouble
    } finally {
      proving = false
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
      const found = classifyDiskError(error)
      if (!found) return
      trouble = found
      watch()
      tell(found)
    },
    tick,
    [Symbol.dispose]: stop,
  }
}
