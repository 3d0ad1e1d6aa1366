import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process'
import { decodeNames, encodeNames } from '../names.ts'
import { withWholePath } from '../search-path.ts'
import { findProgram } from './find-program.ts'
import { brandCommand, HELPER_MARKER } from './marker.ts'

/** A program that ends soon and gets all its input at its start. */
export interface ShortCommand {
  command: string
  args: readonly string[]
  cwd: string
  /** The whole environment: nothing of this process's own is added. */
  env: Record<string, string | undefined>
  input?: string | undefined
  timeoutMs: number
  /** The limit of each output stream. A program that prints more is ended, because half a list is useless. */
  maxBytes: number
  /** What it prints if that need not be text: names of files (`decodeNames`), or bytes, one letter each. Its input may always hold such names. */
  prints?: 'names' | 'bytes' | undefined
  /** Few of them run, so the fork server is not started for it. */
  seldom?: true
}

/** How a program ended. A program that we ended, or that was not started, has no output here. */
export interface ShortCommandResult {
  /** Null unless it exited by itself. */
  code: number | null
  /** The signal that ended it. */
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
  timedOut: boolean
  /** It was ended because it printed too much. */
  truncated: boolean
  /** Why there is no exit code, in words. */
  why?: string | undefined
}

export type ShortCommandRunner = (run: ShortCommand, signal?: AbortSignal) => Promise<ShortCommandResult>

/** Who starts short programs. It depends on the memory of the whole process, so it is module state. */
const current: { runner: ShortCommandRunner } = { runner: runInThisProcess }

/** Runs a short program as a child of this process, or of the fork server if one is set. Never throws: every outcome is a value. */
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

/** What went wrong, in words; undefined if the program exited with 0. */
export function problemOf({ code, why }: ShortCommandResult): string | undefined {
  return code === 0 ? undefined : (why ?? `it ended with exit code ${code}`)
}

/** The streams are closed at the latest this long after the program was killed. */
const CLOSE_MS = 1000

/** Runs a program as a child of this process, in its own process group. */
export async function runInThisProcess(run: ShortCommand, signal?: AbortSignal): Promise<ShortCommandResult> {
  if (signal?.aborted) return notRun(CALLED_OFF)
  let child: ChildProcessWithoutNullStreams
  try {
    child = spawn(run.command, run.args, { cwd: run.cwd, env: withWholePath(run.env), detached: true, stdio: 'pipe' })
  } catch (error) {
    return notRun(String(error)) // an argument that no program can get
  }
  const { promise, resolve } = Promise.withResolvers<ShortCommandResult>()
  let cutOff: ShortCommandResult | undefined
  let closing: NodeJS.Timeout | undefined
  const end = (result: ShortCommandResult) => {
    cutOff ??= { ...result, signal: 'SIGKILL' }
    killGroup(child.pid)
    // A process that left the group may hold the streams open forever.
    closing ??= setTimeout(() => {
      for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy()
      settle(cutOff ?? result)
    }, CLOSE_MS)
  }
  const timeout = setTimeout(() => end(tookTooLong(run)), run.timeoutMs)
  const calledOff = () => end(notRun(CALLED_OFF))
  signal?.addEventListener('abort', calledOff, { once: true })
  const collect = (chunks: Buffer[]) => {
    let bytes = 0
    return (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > run.maxBytes) end(printedTooMuch(run))
      else chunks.push(chunk)
    }
  }
  const out: Buffer[] = []
  const err: Buffer[] = []
  child.stdout.on('data', collect(out))
  child.stderr.on('data', collect(err))
  child.stdin.on('error', () => undefined) // the program did not read its input; its exit code tells the rest
  child.stdin.end(encodeNames(run.input ?? ''))
  const decode = (chunks: Buffer[]) => {
    const bytes = Buffer.concat(chunks)
    if (run.prints === 'names') return decodeNames(bytes)
    return bytes.toString(run.prints === 'bytes' ? 'latin1' : 'utf8')
  }
  const settle = (result: ShortCommandResult) => {
    clearTimeout(timeout)
    clearTimeout(closing)
    signal?.removeEventListener('abort', calledOff)
    resolve(result)
  }
  child.on('error', error => settle(notRun(error.message)))
  child.on('close', (code, killedBy) =>
    settle(cutOff ?? ended(code, killedBy, [decode(out), Buffer.concat(err).toString()])),
  )
  return promise
}

/**
 * Runs a program while this whole process stands still: only for callers that cannot wait in another way. It is branded like what the helper
 * starts: what it can be made to run does not speak for a person. With `latin1` each letter of its output is a byte.
 */
export function runShortSync(run: ShortCommand, encoding: 'utf8' | 'latin1' = 'utf8'): ShortCommandResult {
  const env = withWholePath(run.env)
  const options = { cwd: run.cwd, env, input: run.input ?? '', encoding, detached: true } as const
  const limits = { timeout: run.timeoutMs, maxBuffer: run.maxBytes, killSignal: 'SIGKILL' } as const
  try {
    const plain = { command: run.command, args: [...run.args] }
    // A program that is not there is reported as missing, and not as an error of the shell.
    const isThere = findProgram(run.command, env) !== undefined
    const { command, args } = isThere ? brandCommand(HELPER_MARKER, plain.command, plain.args) : plain
    const { error, pid, status, signal, stdout, stderr } = spawnSync(command, args, { ...options, ...limits })
    if (!error) return ended(status, signal, [stdout, stderr])
    // The rest of the group; 0 is the pid of a program that did not start.
    if (pid > 0) killGroup(pid)
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ETIMEDOUT') return { ...tookTooLong(run), signal }
    if (code === 'ENOBUFS') return { ...printedTooMuch(run), signal }
    return notRun(error.message)
  } catch (error) {
    return notRun(String(error)) // an argument that no program can get
  }
}

/** The result of a program that ended by itself, or that somebody else killed. */
function ended(code: number | null, signal: NodeJS.Signals | null, [stdout, stderr]: [string, string]) {
  const result: ShortCommandResult = { code, signal, stdout, stderr, timedOut: false, truncated: false }
  return signal === null ? result : { ...result, why: `it was killed by ${signal}` }
}

/** The result of a program that did not start, or whose end is not known. */
export function notRun(why: string): ShortCommandResult {
  return { code: null, signal: null, stdout: '', stderr: '', timedOut: false, truncated: false, why }
}

export const CALLED_OFF = 'it was called off'

function tookTooLong({ timeoutMs }: ShortCommand): ShortCommandResult {
  return { ...notRun(`it took longer than ${Math.round(timeoutMs / 1000)} s`), timedOut: true }
}

function printedTooMuch({ maxBytes }: ShortCommand): ShortCommandResult {
  return { ...notRun(`it said more than ${maxBytes} bytes`), truncated: true }
}

/** Kills the whole group, because the program may have started others. */
function killGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // The program ended at the same moment.
  }
}
