import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { entryUrl } from '../../base/program.ts'

export interface WatchdogOptions {
  /** How long the event loop may hang. */
  limitMs: number
  /** The directory for the diagnostic; the log whose last lines it quotes is there too. */
  logs: string
  /** How many sessions run now. */
  live(): number
  /** Called if the thread dies: the daemon goes on, but nothing watches it. */
  lost(error: unknown): void
}

/** Checks per limit: enough to find a stall soon after the limit, few enough to cost nothing. */
const CHECKS = 12

/**
 * Ends this process if its event loop hangs for too long. The loop counts beats in shared memory, and a separate thread checks
 * that the count rises. The daemon's parent or service manager starts it again; a diagnostic says where it hung.
 */
export function startWatchdog({ limitMs, logs, live, lost }: WatchdogOptions): Disposable {
  const everyMs = Math.ceil(limitMs / CHECKS)
  const memory = new SharedArrayBuffer(8)
  const beats = new Int32Array(memory)
  const beat = () => {
    Atomics.add(beats, BEATS, 1)
    Atomics.store(beats, LIVE, live())
  }
  beat()
  const timer = setInterval(beat, everyMs).unref()
  const watched: WatchdogData = { memory, limitMs, everyMs, logs, log: join(logs, 'daemon.log') }
  const worker = new Worker(entryUrl('daemon/watchdog/watch'), {
    workerData: watched,
    env: {},
    execArgv: [],
    resourceLimits: SMALL,
  })
  worker.unref()
  worker.on('error', error => {
    clearInterval(timer)
    lost(error)
  })
  return {
    [Symbol.dispose]() {
      clearInterval(timer)
      void worker.terminate()
    },
  }
}

/** Little memory is enough: the thread only compares two numbers. */
const SMALL = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 1, codeRangeSizeMb: 4, stackSizeMb: 1 }

/** What the watching thread gets. */
export interface WatchdogData {
  memory: SharedArrayBuffer
  limitMs: number
  everyMs: number
  logs: string
  log: string
}

/** Indexes into the shared memory: beats of the event loop, and how many sessions ran at the last beat. */
export const BEATS = 0
export const LIVE = 1
