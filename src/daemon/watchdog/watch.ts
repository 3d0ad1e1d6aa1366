import { workerData } from 'node:worker_threads'
import { BEATS, LIVE, type WatchdogData } from './watchdog.ts'

/**
 * The thread that watches the event loop of the daemon. Only looks that came in time count: when the machine slept, or the
 * whole process was stopped, or so busy that even this thread was late, the count starts anew.
 */
const { memory, limitMs, everyMs, logs, log } = workerData as WatchdogData
const beats = new Int32Array(memory)
let last = -1
let missed = 0
let before = performance.now()

const timer = setInterval(() => {
  const now = performance.now()
  const late = now - before > 2 * everyMs
  before = now
  const count = Atomics.load(beats, BEATS)
  missed = late || count !== last ? 0 : missed + 1
  last = count
  if (missed * everyMs < limitMs) return
  clearInterval(timer)
  void tell()
}, everyMs)

/** Imported now only: it is needed once in the life of a daemon, if at all. */
async function tell(): Promise<void> {
  try {
    const { writeDiagnostic } = await import('./diagnostic.ts')
    await writeDiagnostic({ logs, log, stalledMs: missed * everyMs, live: Atomics.load(beats, LIVE) })
  } finally {
    process.kill(process.pid, 'SIGABRT')
  }
}
