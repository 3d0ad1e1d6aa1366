import { spawn } from 'node:child_process'

/** A program that is over soon, with nothing to say to it but what it reads at its start. */
export interface ShortRun {
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
export interface ShortEnd {
  code: number | null
  stdout: string
  stderr: string
  why?: string | undefined
}

/** After its end the streams are let go of at the latest. */
const LEAVE_MS = 1000

export type RunShort = (run: ShortRun, signal?: AbortSignal) => Promise<ShortEnd>

/** Runs it as a child of this process, in a process group of its own. Never throws; every end is a value. */
export const runHere: RunShort = (run, signal) => {
  if (signal?.aborted) return Promise.resolve(cutOff('it was called off'))
  const { promise, resolve } = Promise.withResolvers<ShortEnd>()
  const child = spawn(run.command, run.args, { cwd: run.cwd, env: run.env, detached: true, stdio: 'pipe' })
  let why: string | undefined
  let leave: NodeJS.Timeout | undefined
  const end = (reason: string) => {
    why ??= reason
    killGroup(child.pid)
    // Whoever left the group may hold its streams for ever.
    leave ??= setTimeout(() => {
      for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy()
      settle(cutOff(reason))
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
  const settle = (result: ShortEnd) => {
    clearTimeout(late)
    clearTimeout(leave)
    signal?.removeEventListener('abort', calledOff)
    resolve(result)
  }
  child.on('error', error => settle(cutOff(error.message)))
  child.on('close', code => {
    if (why !== undefined) return settle(cutOff(why))
    settle({ code, stdout: Buffer.concat(out).toString(), stderr: Buffer.concat(err).toString() })
  })
  return promise
}

/** What is told of one that did not come to its own end. */
export function cutOff(why: string): ShortEnd {
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
