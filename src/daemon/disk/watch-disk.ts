import type { Log } from '../../base/log.ts'
import { type DiskReport, diskReport, troubleOf } from './disk.ts'

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
  look?: typeof diskReport
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
export function watchDisk({ dir, minFreeMb, log, busy, held, prove, freed, look = diskReport }: WatchDisk): Disk {
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
      trouble = troubleOf(error) ?? trouble
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
      const found = troubleOf(error)
      if (!found) return
      trouble = found
      watch()
      tell(found)
    },
    tick,
    [Symbol.dispose]: stop,
  }
}
