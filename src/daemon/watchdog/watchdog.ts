import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { entryUrl } from '../../base/program.ts'

export interface WatchdogOptions {
  /** For how long the event loop may stand still. */
  limitMs: number
  /** Where the diagnostic goes, and where the log lies whose last lines belong into it. */
  logs: string
  /** Sessions that run now. */
  live(): number
  /** The thread is gone: the daemon works as before, but nobody watches it. */
  lost(error: unknown): void
}

/** Looks in the time of one limit: many enough that a stall is found soon after it, few enough to cost nothing. */
const LOOKS = 12

/**
 * Ends this process when its event loop stands still for too long: the loop counts its beats in shared memory, and a thread
 * of its own sees whether the count rises. Whoever keeps the daemon starts it again; a diagnostic says where it stood.
 */
export function startWatchdog({ limitMs, logs, live, lost }: WatchdogOptions): Disposable {
  const everyMs = Math.ceil(limitMs / LOOKS)
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

/** It only compares two numbers. */
const SMALL = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 1, codeRangeSizeMb: 4, stackSizeMb: 1 }

/** What the thread that watches is given. */
export interface WatchdogData {
  memory: SharedArrayBuffer
  limitMs: number
  everyMs: number
  logs: string
  log: string
}

/** Places in the shared memory: beats of the event loop, and how many sessions ran at the last one. */
export const BEATS = 0
export const LIVE = 1
