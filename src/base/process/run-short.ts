import { type ChildProcess, fork, spawn } from 'node:child_process'
import { entryUrl } from '../program.ts'

/** A program that is over soon, with nothing to say to it but what it reads at its start. */
export interface ShortCommand {
  command: string
  args: readonly string[]
  cwd: string
  /** The whole environment. */
  env: Record<string, string>
  input?: string | undefined
  timeoutMs: number
  /** Of each stream. One that says more is ended: half a list is no list. */
  maxBytes: number
}

/** How it ended. `why` is there where it was not there, was cut off, or said too much; `code` is null then. */
interface ShortCommandResult {
  code: number | null
  stdout: string
  stderr: string
  why?: string | undefined
}

/** After its end the streams are let go of at the latest. */
const LEAVE_MS = 1000

export type ShortCommandRunner = (run: ShortCommand, signal?: AbortSignal) => Promise<ShortCommandResult>

/** Runs it as a child of this process, in a process group of its own. Never throws; every end is a value. */
export const runInThisProcess: ShortCommandRunner = (run, signal) => {
  if (signal?.aborted) return Promise.resolve(cutOffResult('it was called off'))
  const { promise, resolve } = Promise.withResolvers<ShortCommandResult>()
  const child = spawn(run.command, run.args, { cwd: run.cwd, env: run.env, detached: true, stdio: 'pipe' })
  let why: string | undefined
  let leave: NodeJS.Timeout | undefined
  const end = (reason: string) => {
    why ??= reason
    killGroup(child.pid)
    // Whoever left the group may hold its streams for ever.
    leave ??= setTimeout(() => {
      for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy()
      settle(cutOffResult(reason))
    }, LEAVE_MS)
  }
  const late = setTimeout(end, run.timeoutMs, `it took longer than ${Math.round(run.timeoutMs / 1000)} s`)
  const calledOff = () => end('it was called off')
  signal?.addEventListener('abort', calledOff, { once: true })
  const gather = (chunks: Buffer[]) => {
    let bytes = 0
    return (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > run.maxBytes) end(`it said more than ${run.maxBytes} bytes`)
      else chunks.push(chunk)
    }
  }
  const out: Buffer[] = []
  const err: Buffer[] = []
  child.stdout.on('data', gather(out))
  child.stderr.on('data', gather(err))
  child.stdin.on('error', () => undefined) // it did not want to read: its exit code says the rest
  child.stdin.end(run.input ?? '')
  const settle = (result: ShortCommandResult) => {
    clearTimeout(late)
    clearTimeout(leave)
    signal?.removeEventListener('abort', calledOff)
    resolve(result)
  }
  child.on('error', error => settle(cutOffResult(error.message)))
  child.on('close', code => {
    if (why !== undefined) return settle(cutOffResult(why))
    settle({ code, stdout: Buffer.concat(out).toString(), stderr: Buffer.concat(err).toString() })
  })
  return promise
}

/** What is told of one that did not come to its own end. */
function cutOffResult(why: string): ShortCommandResult {
  return { code: null, stdout: '', stderr: '', why }
}

/** It may have started others of its kind. */
function killGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // It was over in the same moment.
  }
}

/** Which process starts short programs. It belongs to the process as a whole, as its memory does, which is why it is kept here. */
const currentRunner: { runs: ShortCommandRunner } = { runs: runInThisProcess }

/** Runs a short program: as a child of this process, or of the small one that was lent to it. */
export const runShort: ShortCommandRunner = (run, signal) => currentRunner.runs(run, signal)

/** From now on short programs are started by somebody else, until this is taken back. */
export function setShortRunner(runs: ShortCommandRunner): Disposable {
  currentRunner.runs = runs
  return {
    [Symbol.dispose]() {
      currentRunner.runs = runInThisProcess
    },
  }
}

/** What is said to the small process, and what it says. */
export type ForkRequest = { id: number; run: ShortCommand } | { id: number; calledOff: true }
export interface ForkReply {
  id: number
  end: ShortCommandResult
}

export interface ForkServer extends Disposable {
  run: ShortCommandRunner
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
export function openForkServer({ keepMs = KEEP_MS, marginMs = MARGIN_MS } = {}): ForkServer {
  const waiting = new Map<number, (end: ShortCommandResult) => void>()
  let child: ChildProcess | undefined
  let idle: NodeJS.Timeout | undefined
  let last = 0

  const cutAllOff = () => {
    for (const [id, settle] of [...waiting]) {
      waiting.delete(id)
      settle(cutOffResult('the process that had started it is gone'))
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
    const started = startForkServer()
    const gone = () => {
      if (child !== started) return
      child = undefined
      cutAllOff()
    }
    started.on('message', (message: ForkReply) => {
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
      if (signal?.aborted) return Promise.resolve(cutOffResult('it was called off'))
      const to = there()
      if (to.pid === undefined) return runInThisProcess(run, signal)
      clearTimeout(idle)
      to.channel?.ref()
      last += 1
      const id = last
      const { promise, resolve } = Promise.withResolvers<ShortCommandResult>()
      const calledOff = () => sendRequest(to, { id, calledOff: true })
      signal?.addEventListener('abort', calledOff, { once: true })
      const hung = setTimeout(() => to.kill('SIGKILL'), run.timeoutMs + marginMs)
      waiting.set(id, end => {
        clearTimeout(hung)
        signal?.removeEventListener('abort', calledOff)
        resolve(end)
      })
      sendRequest(to, { id, run })
      return promise
    },
    [Symbol.dispose]: letGo,
  }
}

/** That it is gone is heard elsewhere. */
function sendRequest(child: ChildProcess, message: ForkRequest): void {
  if (child.connected) child.send(message, () => undefined)
}

/** In a session of its own: Ctrl+C in the daemon's terminal is not for it. It knows nothing of our environment. */
function startForkServer(): ChildProcess {
  const child = fork(entryUrl('base/process/forks-child'), [], {
    env: {},
    execArgv: ['--max-semi-space-size=1'],
    detached: true,
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  child.unref()
  return child
}
