import { realpath } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { messageOf } from '../../base/errors.ts'
import { runShort } from '../../base/process/run-short.ts'
import { fenceCall } from './fence.ts'
import { findGitFolder, type GitFolder, readGitFolder } from './git-folder.ts'
import { whyGitMustNotWrite } from './git-folder-links.ts'
import { type HardenedCall, hardenCall, readTrustedDirectories } from './harden.ts'

/** How a call of git ended. `code` is null if git is missing, was killed, or printed too much: `stderr` says which. */
export interface GitResult {
  ok: boolean
  stdout: string
  stderr: string
  code: number | null
}

export interface GitOptions {
  /** Standard input. */
  input?: string | undefined
  /** Further variables, such as `GIT_INDEX_FILE` or the committer. */
  env?: Record<string, string> | undefined
  timeoutMs?: number | undefined
  /** The limit of each stream. A call that prints more is killed: half a list is worth nothing. */
  maxBytes?: number | undefined
  signal?: AbortSignal | undefined
}

const PATIENCE_MS = 60_000
const MOST_BYTES = 32_000_000

/**
 * Runs git in a repository whose own settings an agent may have written: no program that they name is started (harden.ts), the
 * network is not used, nobody is prompted, and nothing is written through a link in git's own folders (git-folder-links.ts). Never
 * throws; every end is a value. Worktrees of one repository are added and removed one at a time; a call that reads all of them, and
 * fails because another git is changing them, is repeated.
 */
export async function git(directory: string, args: readonly string[], options: GitOptions = {}): Promise<GitResult> {
  const { signal } = options
  if (changesWorktrees(args)) {
    const call = () => runInTurn(directory, args, options)
    // A failed `add` may have made the branch: only its caller knows how to undo that.
    return args[1] === 'add' ? call() : retryWhileBusy(call, { signal })
  }
  const call = () => runSafely(directory, args, options)
  return readsWorktrees(args) ? retryWhileBusy(call, { signal }) : call()
}

function changesWorktrees([command, subcommand]: readonly string[]): boolean {
  return command === 'worktree' && subcommand !== 'list'
}

/** `branch` refuses to delete a branch that is checked out, and `for-each-ref` can print where a branch is checked out. */
function readsWorktrees([command]: readonly string[]): boolean {
  return command === 'worktree' || command === 'branch' || command === 'for-each-ref'
}

async function runInTurn(directory: string, args: readonly string[], options: GitOptions): Promise<GitResult> {
  const repository = (await findGitFolder(directory))?.common ?? directory
  using turn = await lockWorktrees(await realpath(repository).catch(() => repository), options.signal)
  if (!turn) return { ok: false, stdout: '', stderr: 'git: it was called off', code: null }
  return await runSafely(directory, args, options)
}

async function runSafely(directory: string, args: readonly string[], options: GitOptions): Promise<GitResult> {
  // Git searches from the real directory.
  const real = await realpath(directory).catch(() => directory)
  const word = findForbiddenWord(args)
  if (word !== undefined) return refuse(`${word} is no word for git here`)
  const folder = await readGitFolder(real)
  if (typeof folder === 'string') return refuse(folder)
  const why = await whyGitMustNotWrite(folder, { args, input: options.input })
  if (why !== undefined) return refuse(why)
  const request = { directory: real, folder, asked: args }
  const result = await runHardened(request, () => hardenCall(folder, args), options)
  if (result.ok || !result.stderr.includes('dubious ownership')) return result
  // Somebody else owns the repository: then it counts whether the person trusts it in their own settings, which are not read here.
  const trusted = await readTrustedDirectories()
  return trusted.length > 0 ? runHardened(request, () => hardenCall(folder, args, trusted), options) : result
}

/**
 * Finds a word by which git would write a file of any name or run a program. No call needs one, so it comes from a file that an agent has
 * written where a commit was expected. Git also understands such words when they are cut short.
 */
function findForbiddenWord(args: readonly string[]): string | undefined {
  const end = args.indexOf('--')
  return args.slice(0, end < 0 ? args.length : end).find(arg => FORBIDDEN.test(arg))
}

const FORBIDDEN = /^--(ou|index-o|exe|upload-p|open-f|ext-|textc)/

interface GitRequest {
  directory: string
  folder: GitFolder | undefined
  /** The command of git with its arguments, as it was asked for. */
  asked: readonly string[]
}

async function runHardened(
  request: GitRequest,
  harden: () => Promise<HardenedCall>,
  options: GitOptions,
): Promise<GitResult> {
  try {
    await using call = await harden()
    return await run(request, call, options)
  } catch (thrown) {
    return refuse(messageOf(thrown))
  }
}

function refuse(why: string): GitResult {
  return { ok: false, stdout: '', stderr: `fatal: ${why.replace(/^fatal: /, '')}`, code: null }
}

async function run(
  { directory, folder, asked }: GitRequest,
  safe: HardenedCall,
  options: GitOptions,
): Promise<GitResult> {
  const { timeoutMs = PATIENCE_MS, maxBytes = MOST_BYTES, signal, input } = options
  const env = { ...safe.env, ...options.env }
  const call = await fenceCall(folder, { directory, command: safe.command, args: safe.args, asked, env })
  const end = await runShort({ ...call, cwd: directory, env, input, timeoutMs, maxBytes }, signal)
  const { code, stdout, stderr, why } = end
  return why === undefined
    ? { ok: code === 0, stdout, stderr, code }
    : { ok: false, stdout, stderr: `git: ${why}`, code }
}

/** Another git in the same repository is usually done within milliseconds; a lock that stays longer is not waited for here. */
const PAUSES_MS = [10, 30, 100, 300, 1000]

/**
 * Repeats a call while it fails only because another git, a person's or another daemon's, is at work in the same repository.
 * `undo` removes what a failed call has left.
 */
export async function retryWhileBusy<Result extends { ok: boolean; stderr: string }>(
  call: () => Promise<Result>,
  { signal, undo }: { signal?: AbortSignal | undefined; undo?: () => Promise<void> } = {},
): Promise<Result> {
  for (const pauseMs of PAUSES_MS) {
    const result = await call()
    if (result.ok || !isRepositoryBusy(result.stderr) || signal?.aborted) return result
    await undo?.()
    await sleep(pauseMs, undefined, { signal }).catch(() => undefined) // after an abort the next call reports it
  }
  return call()
}

/** Whether git's error is caused by another git at the same moment: then nothing is wrong with the repository. */
export function isRepositoryBusy(stderr: string): boolean {
  return BUSY_MESSAGES.some(message => message.test(stderr))
}

const BUSY_MESSAGES = [
  // The last worktree was removed, and the folder `worktrees` with it, while one was being added.
  /\bworktrees\/.*: No such file or directory/,
  // A worktree is being added: its files exist and are still empty.
  /failed to read \S*\bworktrees\/.*(commondir|gitdir|HEAD)/,
  // A ref, the index or the settings are being written, or the folder of a ref has just been removed.
  /\.lock'?: (File exists|No such file or directory)/,
  /could not lock config file .*: (File exists|No such file or directory)/,
]

/**
 * The end of the queue of calls that change worktrees, by repository folder. Like the repository, it is one for the whole process,
 * whoever calls; that is why it is module state.
 */
const queues = new Map<string, Promise<void>>()

/**
 * Waits until nobody else in this process adds or removes a worktree of a repository. Git removes its folder `worktrees` with the
 * last worktree, even while another git is adding the next one. Undefined if the signal ended the wait.
 */
export async function lockWorktrees(repository: string, signal?: AbortSignal): Promise<Disposable | undefined> {
  const before = queues.get(repository) ?? Promise.resolve()
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const queueEnd = before.then(() => released)
  queues.set(repository, queueEnd)
  void queueEnd.then(() => {
    if (queues.get(repository) === queueEnd) queues.delete(repository)
  })
  await waitForTurn(before, signal)
  if (!signal?.aborted) return { [Symbol.dispose]: release }
  release()
  return undefined
}

async function waitForTurn(turn: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  if (!signal) return turn
  const { promise: calledOff, resolve } = Promise.withResolvers<void>()
  const callOff = () => resolve()
  signal.addEventListener('abort', callOff, { once: true })
  if (signal.aborted) resolve()
  await Promise.race([turn, calledOff])
  signal.removeEventListener('abort', callOff)
}
