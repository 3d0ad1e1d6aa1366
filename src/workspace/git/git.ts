import { spawn } from 'node:child_process'
import { harmless, trustedDirectories } from './harmless.ts'

/** How a call of git ended. `code` is null where it was not there, was cut off, or said too much: `stderr` tells. */
export interface GitResult {
  ok: boolean
  stdout: string
  stderr: string
  code: number | null
}

export interface GitOptions {
  /** What it reads. */
  input?: string | undefined
  /** Variables beside our own: `GIT_INDEX_FILE`, who commits. */
  env?: Record<string, string> | undefined
  timeoutMs?: number | undefined
  /** Of each stream. One that says more is ended: half a list is no list. */
  maxBytes?: number | undefined
  signal?: AbortSignal | undefined
}

const PATIENCE_MS = 60_000
const MOST_BYTES = 32_000_000

/**
 * Runs git in a repository whose own settings an agent may have written: nothing that those name is started (harmless.ts), no
 * network is asked, nobody is prompted. Never throws; every end is a value.
 */
export async function git(directory: string, args: readonly string[], options: GitOptions = {}): Promise<GitResult> {
  const safe = await harmless(directory, args)
  const result = await run(directory, safe.args, { ...options, env: { ...safe.env, ...options.env } })
  if (result.ok || !result.stderr.includes('dubious ownership')) return result
  // Somebody else owns it: it counts what the person has agreed to in their own settings, which are out of the way.
  const agreed = await trustedDirectories(directory, args)
  return agreed ? run(directory, agreed.args, { ...options, env: { ...agreed.env, ...options.env } }) : result
}

function run(directory: string, args: readonly string[], options: GitOptions): Promise<GitResult> {
  const { timeoutMs = PATIENCE_MS, maxBytes = MOST_BYTES, signal } = options
  if (signal?.aborted) return Promise.resolve(cutOff('it was called off'))
  const { promise, resolve } = Promise.withResolvers<GitResult>()
  const child = spawn('git', args, { cwd: directory, env: options.env, detached: true, stdio: 'pipe' })
  let why: string | undefined
  const end = (reason: string) => {
    why ??= reason
    killGroup(child.pid)
  }
  const late = setTimeout(end, timeoutMs, `it took longer than ${Math.round(timeoutMs / 1000)} s`)
  const calledOff = () => end('it was called off')
  signal?.addEventListener('abort', calledOff, { once: true })
  const gather = (chunks: Buffer[]) => {
    let bytes = 0
    return (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > maxBytes) end(`it said more than ${maxBytes} bytes`)
      else chunks.push(chunk)
    }
  }
  const out: Buffer[] = []
  const err: Buffer[] = []
  child.stdout.on('data', gather(out))
  child.stderr.on('data', gather(err))
  child.stdin.on('error', () => undefined) // it did not want to read: its exit code says the rest
  child.stdin.end(options.input ?? '')
  const settle = (result: GitResult) => {
    clearTimeout(late)
    signal?.removeEventListener('abort', calledOff)
    resolve(result)
  }
  child.on('error', error => settle(cutOff(error.message)))
  child.on('close', code => {
    const [stdout, stderr] = [Buffer.concat(out).toString(), Buffer.concat(err).toString()]
    settle(why === undefined ? { ok: code === 0, stdout, stderr, code } : cutOff(why))
  })
  return promise
}

function cutOff(why: string): GitResult {
  return { ok: false, stdout: '', stderr: `git: ${why}`, code: null }
}

/** It may have started others of its kind. */
function killGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // It was over in the same moment.
  }
}
