import { type ChildProcess, fork } from 'node:child_process'
import { cutOff, type RunShort, runHere, type ShortEnd, type ShortRun } from './run-here.ts'

/** What is said to the small process, and what it says. */
export type ToForks = { id: number; run: ShortRun } | { id: number; calledOff: true }
export interface FromForks {
  id: number
  end: ShortEnd
}

export interface Forks extends Disposable {
  run: RunShort
  /** Of the small process, while there is one. */
  readonly pid: number | undefined
}

/** Longer than the pauses between the tasks of a run; it holds 45 MB. */
const KEEP_MS = 60_000
/** It ends what takes too long by itself; one that has not even done that is not waited for. */
const MARGIN_MS = 10_000

/**
 * Starts short programs from a small process of its own. A process that starts another is copied for a moment, and holds still
 * meanwhile: with 150 MB that takes 5 ms, with the 45 MB of this one 1 ms, and a task that is verified and merged asks git forty
 * times. The process is there from the first program on, goes when nobody has asked for a while, and when we die.
 */
export function openForks({ keepMs = KEEP_MS, marginMs = MARGIN_MS } = {}): Forks {
  const waiting = new Map<number, (end: ShortEnd) => void>()
  let child: ChildProcess | undefined
  let idle: NodeJS.Timeout | undefined
  let last = 0

  const cutAllOff = () => {
    for (const [id, settle] of [...waiting]) {
      waiting.delete(id)
      settle(cutOff('the process that had started it is gone'))
    }
  }
  const letGo = () => {
    clearTimeout(idle)
    if (child?.connected) child.disconnect()
    child = undefined
    cutAllOff()
  }
  const there = () => {
    if (child?.connected) return child
    const started = start()
    const gone = () => {
      if (child !== started) return
      child = undefined
      cutAllOff()
    }
    started.on('message', (message: FromForks) => {
      waiting.get(message.id)?.(message.end)
      waiting.delete(message.id)
      if (waiting.size > 0) return
      started.channel?.unref()
      idle = setTimeout(letGo, keepMs).unref()
    })
    // One that could not be started has an error and no exit.
    started.on('error', gone)
    started.on('disconnect', gone)
    child = started
    return started
  }

  return {
    get pid() {
      return child?.pid
    },
    run(run, signal) {
      if (signal?.aborted) return Promise.resolve(cutOff('it was called off'))
      const to = there()
      if (to.pid === undefined) return runHere(run, signal)
      clearTimeout(idle)
      to.channel?.ref()
      last += 1
      const id = last
      const { promise, resolve } = Promise.withResolvers<ShortEnd>()
      const calledOff = () => tell(to, { id, calledOff: true })
      signal?.addEventListener('abort', calledOff, { once: true })
      const hung = setTimeout(() => to.kill('SIGKILL'), run.timeoutMs + marginMs)
      waiting.set(id, end => {
        clearTimeout(hung)
        signal?.removeEventListener('abort', calledOff)
        resolve(end)
      })
      tell(to, { id, run })
      return promise
    },
    [Symbol.dispose]: letGo,
  }
}

/** That it is gone is heard elsewhere. */
function tell(child: ChildProcess, message: ToForks): void {
  if (child.connected) child.send(message, () => undefined)
}

/** In a session of its own: Ctrl+C in the daemon's terminal is not for it. It knows nothing of our environment. */
function start(): ChildProcess {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
  const child = fork(new URL(`./forks-child.${extension}`, import.meta.url), [], {
    env: {},
    execArgv: ['--max-semi-space-size=1'],
    detached: true,
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  child.unref()
  return child
}
