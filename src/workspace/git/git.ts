import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { messageOf } from '../../base/errors.ts'
import { realPathIfAny } from '../../base/is-there.ts'
import { runShort } from '../../base/process/run-short.ts'
import { quoteForShell } from '../../base/words.ts'
import { fenceCall } from './fence.ts'
import { findGitFolder, type GitFolder, readGitFolder } from './git-folder.ts'
import { whyGitMustNotWrite } from './git-folder-links.ts'
import { type HardenedCall, hardenCall, readTrustedDirectories } from './harden.ts'

/**
 * How a call of git ended. `code` is null if git is missing, was killed, or printed too much: `stderr` says which. Names in a list (`-z`) are exact:
 * as input for another call they are the same bytes, also where they are not text (names.ts).
 */
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
  /** It prints what need not be text: each letter of the output is a byte. */
  printsBytes?: true
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
  const call = () => runSafely(directory, [args], options)
  return readsWorktrees(args) ? retryWhileBusy(call, { signal }) : call()
}

/** The outputs of the commands of a series, or why one failed. */
export type SeriesResult = { ok: true; outputs: string[] } | { ok: false; stderr: string }

/**
 * Runs several commands of git one after the other in one sandbox, which takes longer to make than most commands run; each is checked as
 * by itself. The first that fails ends the series. `outputOf(n)` in a word stands for what the command with that number printed, without the
 * last line break. The input is for the one command that reads it. No command may change worktrees.
 */
export async function gitSeries(
  directory: string,
  make: (outputOf: (command: number) => string) => readonly (readonly string[])[],
  options: GitOptions = {},
): Promise<SeriesResult> {
  const nonce = randomUUID()
  const commands = make(command => `${nonce}:${command};`)
  const result = await runSafely(directory, commands, options, nonce)
  if (!result.ok) return { ok: false, stderr: result.stderr }
  return { ok: true, outputs: result.stdout.split(nonce).slice(0, -1) }
}

/** The script of a series. An output that no later word stands for is passed on as it is, with its zero bytes. */
function seriesScript(
  program: string,
  { args, asked }: { args: string[][]; asked: GitRequest['asked'] },
  nonce: string,
) {
  const isNamed = (command: number) => args.flat().some(word => word.includes(`${nonce}:${command};`))
  const quote = (word: string) =>
    word
      .split(new RegExp(`${nonce}:(\\d+);`))
      .map((part, at) => (at % 2 === 1 ? `"$out${part}"` : part === '' && word !== '' ? '' : quoteForShell(part)))
      .join('')
  const lines = args.map((words, command) => {
    const call = [program, ...words].map(quote).join(' ') + (takesInput(asked[command] ?? []) ? '' : ' </dev/null')
    const run = isNamed(command) ? `out${command}=$(${call}) && printf '%s\\n' "$out${command}"` : call
    return `{ ${run}; } || exit; printf %s ${nonce}`
  })
  return lines.join('\n')
}

function takesInput([command, ...rest]: readonly string[]): boolean {
  return command === 'pack-objects' || rest.some(word => word === '-' || word.endsWith('=-'))
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
  using turn = await lockWorktrees(realPathIfAny(repository) ?? repository, options.signal)
  if (!turn) return { ok: false, stdout: '', stderr: 'git: it was called off', code: null }
  return await runSafely(directory, [args], options)
}

/** Runs one command, or a series of them where there is a nonce. */
async function runSafely(
  directory: string,
  asked: GitRequest['asked'],
  options: GitOptions,
  nonce?: string,
): Promise<GitResult> {
  // Git searches from the real directory.
  const real = realPathIfAny(directory) ?? directory
  const word = asked.map(findForbiddenWord).find(found => found !== undefined)
  if (word !== undefined) return refuse(`${word} is no word for git here`)
  const folder = await readGitFolder(real)
  if (typeof folder === 'string') return refuse(folder)
  const { input } = options
  const why = asked.map(args => whyGitMustNotWrite(folder, { args, input })).find(Boolean)
  if (why !== undefined) return refuse(why)
  const request = { directory: real, folder, asked, nonce }
  const result = await runHardened(request, () => hardenCall(folder, asked), options)
  if (result.ok || !result.stderr.includes('dubious ownership')) return result
  // Somebody else owns the repository: then it counts whether the person trusts it in their own settings, which are not read here.
  const trusted = await readTrustedDirectories()
  return trusted.length > 0 ? runHardened(request, () => hardenCall(folder, asked, trusted), options) : result
}

/**
 * Finds a word by which git would write a file of any name or run a program. No call needs one, so it comes from a file that an agent has
 * written where a commit was expected. Git also understands such words when they are cut short. A name that is not UTF-8 would become another one
 * on its way to git: only input and output carry it.
 */
function findForbiddenWord(args: readonly string[]): string | undefined {
  const end = args.indexOf('--')
  const options = args.slice(0, end < 0 ? args.length : end)
  return options.find(arg => FORBIDDEN.test(arg)) ?? args.find(arg => !arg.isWellFormed())?.toWellFormed()
}

const FORBIDDEN = /^--(ou|index-o|exe|upload-p|open-f|ext-|textc)/

interface GitRequest {
  directory: string
  folder: GitFolder | undefined
  /** The commands of git with their arguments, as they were asked for. */
  asked: readonly (readonly string[])[]
  /** Separates the outputs of a series. */
  nonce: string | undefined
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
  { directory, folder, asked, nonce }: GitRequest,
  safe: HardenedCall,
  options: GitOptions,
): Promise<GitResult> {
  const { timeoutMs = PATIENCE_MS, maxBytes = MOST_BYTES, signal, input } = options
  const env = { ...safe.env, ...options.env }
  const { command, args } = safe
  const inner =
    nonce === undefined
      ? { command, args: args[0] ?? [] }
      : { command: '/bin/sh', args: ['-c', seriesScript(command, { args, asked }, nonce)] }
  const call = await fenceCall(folder, { directory, ...inner, program: command, asked, env })
  const prints = options.printsBytes
    ? 'bytes'
    : asked.some(([, ...words]) => words.includes('-z'))
      ? 'names'
      : undefined
  const end = await runShort({ ...call, cwd: directory, env, input, timeoutMs, maxBytes, prints }, signal)
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
