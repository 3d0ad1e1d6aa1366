import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Rarely enough to cost nothing, often enough that a daemon whose work is over is small again soon. */
const LOOK_MS = 10_000
/** Less garbage than this is not worth a collection. */
const WORTH_IT = 1.15

export interface IdleMemory {
  isIdle(): boolean
  /** Given by tests. */
  everyMs?: number
  heapUsed?(): number
  collect?(): void
}

/**
 * Gives back what work has left behind, once nobody works. V8 collects when it needs room, and a daemon that needs none keeps
 * its garbage for days: after a thousand short tasks it held 194 MB, of which 52 were garbage. While a session is at work
 * nothing is done here.
 */
export function tidyWhenIdle(parts: IdleMemory): Disposable {
  const { isIdle, everyMs = LOOK_MS, heapUsed = () => process.memoryUsage().heapUsed, collect = collector() } = parts
  let least = heapUsed()
  const timer = setInterval(() => {
    if (!isIdle() || heapUsed() < least * WORTH_IT) return
    collect()
    least = heapUsed()
  }, everyMs).unref()
  return { [Symbol.dispose]: () => clearInterval(timer) }
}

/** The collector of this process, without the flag that would show it to everybody. */
function collector(): () => void {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  setFlagsFromString('--no-expose-gc')
  return collect
}
