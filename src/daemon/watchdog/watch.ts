import { workerData } from 'node:worker_threads'
import { BEATS, LIVE, type WatchdogData } from './watchdog.ts'

/**
 * The thread that watches the daemon's event loop. Only checks that came in time count: if the machine slept, or the whole
 * process was stopped, or was so busy that even this thread was late, the count starts anew.
 */
const { memory, limitMs, everyMs, logs, log } = workerData as WatchdogData
const beats = new Int32Array(memory)
let last = -1
let missed = 0
let checkedAt = performance.now()

const timer = setInterval(() => {
  const now = performance.now()
  const isLate = now - checkedAt > 2 * everyMs
  checkedAt = now
  const count = Atomics.load(beats, BEATS)
  missed = isLate || count !== last ? 0 : missed + 1
  last = count
  if (missed * everyMs < limitMs) return
  clearInterval(timer)
  void endProcess()
}, everyMs)

/** Writes the diagnostic, which is imported only now because it is needed once in a daemon's life, if at all. */
async function endProcess(): Promise<void> {
  try {
    const { writeDiagnostic } = await import('./diagnostic.ts')
    await writeDiagnostic({ logs, log, stalledMs: missed * everyMs, live: Atomics.load(beats, LIVE) })
  } finally {
    process.kill(process.pid, 'SIGABRT')
  }
}
