import { type ChildProcess, fork, spawn } from 'node:child_process'
import { entryUrl } from '../program.ts'

/** A program that ends soon and gets all its input at its start. */
export interface ShortCommand {
  command: string
  args: readonly string[]
  cwd: string
  /** The whole environment. */
  env: Record<string, string>
  input?: string | undefined
  timeoutMs: number
  /** The limit of each output stream. A program that prints more is ended, because half a list is useless. */
  maxBytes: number
}

/** How a program ended. If it was missing, cut off or printed too much, `why` is set and `code` is null. */
interface ShortCommandResult {
  code: number | null
  stdout: string
  stderr: string
  why?: string | undefined
}

/** The streams are closed at the latest this long after the program was killed. */
const CLOSE_MS = 1000

export type ShortCommandRunner = (run: ShortCommand, signal?: AbortSignal) => Promise<ShortCommandResult>

/** Runs a program as a child of this process, in its own process group. Never throws: every outcome is a value. */
export const runInThisProcess: ShortCommandRunner = (run, signal) => {
  if (signal?.aborted) return Promise.resolve(cutOffResult('it was called off'))
  const { promise, resolve } = Promise.withResolvers<ShortCommandResult>()
  const child = spawn(run.command, run.args, { cwd: run.cwd, env: run.env, detached: true, stdio: 'pipe' })
  let why: string | undefined
  let closing: NodeJS.Timeout | undefined
  const end = (reason: string) => {
    why ??= reason
    killGroup(child.pid)
    // A process that left the group may hold the streams open forever.
    closing ??= setTimeout(() => {
      for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy()
      settle(cutOffResult(reason))
    }, CLOSE_MS)
  }
  const timeout = setTimeout(end, run.timeoutMs, `it took longer than ${Math.round(run.timeoutMs / 1000)} s`)
  const calledOff = () => end('it was called off')
  signal?.addEventListener('abort', calledOff, { once: true })
  const collect = (chunks: Buffer[]) => {
    let bytes = 0
    return (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > run.maxBytes) end(`it said more than ${run.maxBytes} bytes`)
      else chunks.push(chunk)
    }
  }
  const out: Buffer[] = []
  const err: Buffer[] = []
  child.stdout.on('data', collect(out))
  child.stderr.on('data', collect(err))
  child.stdin.on('error', () => undefined) // the program did not read its input; its exit code tells the rest
  child.stdin.end(run.input ?? '')
  const settle = (result: ShortCommandResult) => {
    clearTimeout(timeout)
    clearTimeout(closing)
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

/** The result of a program that did not end by itself. */
function cutOffResult(why: string): ShortCommandResult {
  return { code: null, stdout: '', stderr: '', why }
}

/** Kills the whole group, because the program may have started others. */
function killGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // The program ended at the same moment.
  }
}

/** Who starts short programs. It depends on the memory of the whole process, so it is module state. */
const current: { runner: ShortCommandRunner } = { runner: runInThisProcess }

/** Runs a short program as a child of this process, or of the fork server if one is set. */
export const runShort: ShortCommandRunner = (run, signal) => current.runner(run, signal)

/** Lets another runner start short programs until the result is disposed. */
export function setShortRunner(runner: ShortCommandRunner): Disposable {
  current.runner = runner
  return {
    [Symbol.dispose]() {
      current.runner = runInThisProcess
    },
  }
}

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
  let child: ChildProcess | undefined
  let idle: NodeJS.Timeout | undefined
  let last = 0

  const failAll = () => {
    for (const [id, settle] of [...waiting]) {
      waiting.delete(id)
      settle(cutOffResult('the process that had started it is gone'))
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
    const started = startForkServer()
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
      if (signal?.aborted) return Promise.resolve(cutOffResult('it was called off'))
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
function sendRequest(child: ChildProcess, message: ForkRequest): void {
  if (child.connected) child.send(message, () => undefined)
}

/** It runs in its own session, so that Ctrl+C in the daemon's terminal does not reach it, and with an empty environment. */
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
