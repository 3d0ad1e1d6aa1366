import { realpath } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { runShort } from '../../base/process/run-short.ts'
import { findGitFolder } from './git-folder.ts'
import { hardenCall, hardenCallWithTrusted } from './harden.ts'

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
 * network is asked, nobody is prompted. Never throws; every end is a value. Worktrees of one repository are added and removed one
 * at a time; a call that looks at all of them, and fails because another git is changing them, is made again.
 */
export async function git(directory: string, args: readonly string[], options: GitOptions = {}): Promise<GitResult> {
  const { signal } = options
  if (changesWorktrees(args)) {
    const call = () => inTurn(directory, args, options)
    // What has failed to add one may have made its branch: whoever adds it knows how to take that back.
    return args[1] === 'add' ? call() : retryWhileBusy(call, { signal })
  }
  const call = () => runSafely(directory, args, options)
  return looksAtWorktrees(args) ? retryWhileBusy(call, { signal }) : call()
}

function changesWorktrees([command, what]: readonly string[]): boolean {
  return command === 'worktree' && what !== 'list'
}

/** A branch that is checked out is not deleted, and a ref may tell where it is. */
function looksAtWorktrees([command]: readonly string[]): boolean {
  return command === 'worktree' || command === 'branch' || command === 'for-each-ref'
}

async function inTurn(directory: string, args: readonly string[], options: GitOptions): Promise<GitResult> {
  const repository = (await findGitFolder(directory))?.common ?? directory
  using turn = await lockWorktrees(await realpath(repository).catch(() => repository), options.signal)
  if (!turn) return { ok: false, stdout: '', stderr: 'git: it was called off', code: null }
  return await runSafely(directory, args, options)
}

async function runSafely(directory: string, args: readonly string[], options: GitOptions): Promise<GitResult> {
  const safe = await hardenCall(directory, args)
  const result = await run(directory, safe.args, { ...options, env: { ...safe.env, ...options.env } })
  if (result.ok || !result.stderr.includes('dubious ownership')) return result
  // Somebody else owns it: it counts what the person has agreed to in their own settings, which are out of the way.
  const agreed = await hardenCallWithTrusted(directory, args)
  return agreed ? run(directory, agreed.args, { ...options, env: { ...agreed.env, ...options.env } }) : result
}

async function run(directory: string, args: readonly string[], options: GitOptions): Promise<GitResult> {
  const { timeoutMs = PATIENCE_MS, maxBytes = MOST_BYTES, signal, input, env = {} } = options
  const end = await runShort({ command: 'git', args, cwd: directory, env, input, timeoutMs, maxBytes }, signal)
  const { code, stdout, stderr, why } = end
  return why === undefined
    ? { ok: code === 0, stdout, stderr, code }
    : { ok: false, stdout, stderr: `git: ${why}`, code }
}

/** What another git does in the same repository is over in milliseconds as a rule; a lock that stands longer is not waited for here. */
const PAUSES_MS = [10, 30, 100, 300, 1000]

/**
 * Calls git again for as long as it fails only because another one, a person's or another daemon's, is at work in the same
 * repository. `undo` takes back what a call has left that failed on its way.
 */
export async function retryWhileBusy<Result extends { ok: boolean; stderr: string }>(
  call: () => Promise<Result>,
  { signal, undo }: { signal?: AbortSignal | undefined; undo?: () => Promise<void> } = {},
): Promise<Result> {
  for (const pauseMs of PAUSES_MS) {
    const result = await call()
    if (result.ok || !isRepositoryBusy(result.stderr) || signal?.aborted) return result
    await undo?.()
    await sleep(pauseMs, undefined, { signal }).catch(() => undefined) // called off: the call says so
  }
  return call()
}

/** Whether git's words tell of another git in the same moment: nothing is wrong with the repository then, and it passes. */
export function isRepositoryBusy(stderr: string): boolean {
  return BUSY_MESSAGES.some(words => words.test(stderr))
}

const BUSY_MESSAGES = [
  // The last worktree was removed, and its folder with it, while one was added.
  /\bworktrees\/.*: No such file or directory/,
  // One was just being added: its files are there and empty yet.
  /failed to read \S*\bworktrees\/.*(commondir|gitdir|HEAD)/,
  // A ref, the index or the settings are being written, or the folder of a ref has just been taken away.
  /\.lock'?: (File exists|No such file or directory)/,
  /could not lock config file .*: (File exists|No such file or directory)/,
]

/**
 * Who is at the worktrees of a repository, by its folder: the end of the line. It is one for the whole process, whoever asks, as the
 * repository is; that is why it is kept here.
 */
const waitingLines = new Map<string, Promise<void>>()

/**
 * Waits until nobody else in this process adds or removes a worktree of a repository. Git takes its folder `worktrees` away with the
 * last one, also from under the feet of whoever is just adding the next. Nothing comes back where the signal ended the wait.
 */
export async function lockWorktrees(repository: string, signal?: AbortSignal): Promise<Disposable | undefined> {
  const before = waitingLines.get(repository) ?? Promise.resolve()
  const { promise: left, resolve: leave } = Promise.withResolvers<void>()
  const line = before.then(() => left)
  waitingLines.set(repository, line)
  void line.then(() => {
    if (waitingLines.get(repository) === line) waitingLines.delete(repository)
  })
  await firstOf(before, signal)
  if (!signal?.aborted) return { [Symbol.dispose]: leave }
  leave()
  return undefined
}

async function firstOf(turn: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  if (!signal) return turn
  const { promise: calledOff, resolve } = Promise.withResolvers<void>()
  const callOff = () => resolve()
  signal.addEventListener('abort', callOff, { once: true })
  if (signal.aborted) resolve()
  await Promise.race([turn, calledOff])
  signal.removeEventListener('abort', callOff)
}
