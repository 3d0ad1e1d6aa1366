import { realpath } from 'node:fs/promises'
import { runShort } from '../../base/process/short/run-short.ts'
import { findGitFolder } from './git-folder.ts'
import { harmless, trustedDirectories } from './harmless.ts'
import { outlastOthers } from './outlast-others.ts'
import { takeWorktreeTurn } from './worktree-turns.ts'

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
    return args[1] === 'add' ? call() : outlastOthers(call, { signal })
  }
  const call = () => runSafely(directory, args, options)
  return looksAtWorktrees(args) ? outlastOthers(call, { signal }) : call()
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
  using turn = await takeWorktreeTurn(await realpath(repository).catch(() => repository), options.signal)
  if (!turn) return { ok: false, stdout: '', stderr: 'git: it was called off', code: null }
  return await runSafely(directory, args, options)
}

async function runSafely(directory: string, args: readonly string[], options: GitOptions): Promise<GitResult> {
  const safe = await harmless(directory, args)
  const result = await run(directory, safe.args, { ...options, env: { ...safe.env, ...options.env } })
  if (result.ok || !result.stderr.includes('dubious ownership')) return result
  // Somebody else owns it: it counts what the person has agreed to in their own settings, which are out of the way.
  const agreed = await trustedDirectories(directory, args)
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
