import { type OwnProcess, startOwnProcess } from './own-process.ts'
import {
  CALLED_OFF,
  notRun,
  runInThisProcess,
  type ShortCommand,
  type ShortCommandResult,
  type ShortCommandRunner,
} from './run-short.ts'

/** The messages to the fork server, and its replies. */
export type ForkRequest = { id: number; run: ShortCommand } | { id: number; calledOff: true }
export interface ForkReply {
  id: number
  end: ShortCommandResult
}

export interface ForkServer extends Disposable {
  run: ShortCommandRunner
  /** The pid of the small process, while it runs. */
  readonly pid: number | undefined
}

/** How long an idle fork server stays: longer than the pauses between the tasks of a run. It uses 45 MB. */
const KEEP_MS = 60_000
/** The fork server ends programs that take too long. If it has not done so after this extra time, it is killed. */
const MARGIN_MS = 10_000

/**
 * Starts short programs from a small process of its own. Starting a process copies the parent for a moment, and the parent
 * stands still meanwhile: that takes 5 ms with 150 MB and 1 ms with the 45 MB of this one, and verifying and merging one task
 * calls git forty times. The process starts with the first program and exits when it has been idle for a while, or when we die.
 */
export function openForkServer({ keepMs = KEEP_MS, marginMs = MARGIN_MS } = {}): ForkServer {
  const waiting = new Map<number, (end: ShortCommandResult) => void>()
  let child: OwnProcess | undefined
  let idle: NodeJS.Timeout | undefined
  let last = 0

  const failAll = () => {
    for (const [id, settle] of [...waiting]) {
      waiting.delete(id)
      settle(notRun('the process that had started it is gone'))
    }
  }
  const release = () => {
    clearTimeout(idle)
    if (child?.connected) child.disconnect()
    child = undefined
    failAll()
  }
  const ensureChild = () => {
    if (child?.connected) return child
    const started = startOwnProcess('base/process/forks-child', { flags: ['--max-semi-space-size=1'] })
    const onGone = () => {
      if (child !== started) return
      child = undefined
      failAll()
    }
    started.on('message', (message: ForkReply) => {
      waiting.get(message.id)?.(message.end)
      waiting.delete(message.id)
      if (waiting.size > 0) return
      started.channel?.unref()
      idle = setTimeout(release, keepMs).unref()
    })
    // A process that could not be started has an error and no exit.
    started.on('error', onGone)
    started.on('disconnect', onGone)
    child = started
    return started
  }

  return {
    get pid() {
      return child?.pid
    },
    run(run, signal) {
      if (signal?.aborted) return Promise.resolve(notRun(CALLED_OFF))
      if (run.seldom && !child?.connected) return runInThisProcess(run, signal)
      const server = ensureChild()
      if (server.pid === undefined) return runInThisProcess(run, signal)
      clearTimeout(idle)
      server.channel?.ref()
      last += 1
      const id = last
      const { promise, resolve } = Promise.withResolvers<ShortCommandResult>()
      const calledOff = () => sendRequest(server, { id, calledOff: true })
      signal?.addEventListener('abort', calledOff, { once: true })
      const hung = setTimeout(() => server.kill('SIGKILL'), run.timeoutMs + marginMs)
      waiting.set(id, end => {
        clearTimeout(hung)
        signal?.removeEventListener('abort', calledOff)
        resolve(end)
      })
      sendRequest(server, { id, run })
      return promise
    },
    [Symbol.dispose]: release,
  }
}

/** A failed send is ignored: the 'disconnect' event reports that the server is gone. */
function sendRequest(child: OwnProcess, message: ForkRequest): void {
  if (child.connected) child.send(message, () => undefined)
}
