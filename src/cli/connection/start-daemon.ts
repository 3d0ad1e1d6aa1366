import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, fstatSync, mkdirSync, openSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Readable } from 'node:stream'
import type { AppPaths } from '../../base/app-paths.ts'
import { AppError } from '../../base/errors.ts'
import { packagePath } from '../../base/program.ts'
import { readLockHolder } from '../../daemon/lock.ts'
import { findRestarter, parentFiles, wrapInParent } from '../../daemon/parent-process.ts'
import { unusableDirectory } from '../../daemon/startup.ts'
import type { ErrorReply } from '../../domain/api.ts'
import { loadConfig } from '../../domain/config/load.ts'
import { RemoteError } from '../errors.ts'

type Env = Record<string, string | undefined>

/** A busy machine may take long to start Node and migrate the store; beyond this something is wrong. */
const READY_MS = 30_000

/**
 * Starts the daemon in the background, under a parent that keeps it running, and waits until it is ready. `running`: another
 * one was first.
 */
export async function startDaemon(paths: AppPaths, env: Env): Promise<'ready' | 'running'> {
  const failed = (problem: string) => new AppError('daemon_unreachable', { home: paths.home, problem })
  const errFile = parentFiles(paths).lastWords
  const errors = openErrorFile(errFile, paths.data)
  const before = fstatSync(errors).size
  const bare = [process.execPath, BIN, '--config', paths.configFile, '--data-dir', paths.data, 'daemon', 'run']
  const { command, args } = (await wantsParent(paths, env)) ? wrapInParent(bare, paths) : withoutParent(bare)
  const child = spawn(command, args, {
    cwd: '/',
    detached: true,
    env: daemonEnvironment(env, paths),
    stdio: ['ignore', 'pipe', errors],
  })
  closeSync(errors)
  child.unref()
  const line = await firstLineOf({ child, stdout: child.stdout as Readable })
  const words = lastWords(errFile, before)
  if (line === 'late') throw failed(`it was not ready within ${READY_MS / 1000} s`)
  if (line === undefined) throw failed(words)
  const message = parsed(line)
  if (message === undefined) throw failed(`it said ${JSON.stringify(line.slice(0, 200))}`)
  if (!('error' in message)) return 'ready'
  if (message.error.code === 'daemon_running') return 'running'
  throw new RemoteError(message)
}

/** Works from src and from dist alike. */
const BIN = packagePath('bin/pcc.js')

/** Settings that cannot be read are the daemon's to complain about. */
async function wantsParent(paths: AppPaths, env: Env): Promise<boolean> {
  if (findRestarter(env) !== 'nobody') return false
  return loadConfig({ paths, env }).then(
    ({ config }) => config.daemon.parent,
    () => true,
  )
}

function withoutParent([command = '', ...args]: string[]): { command: string; args: string[] } {
  return { command, args }
}

/** What the daemon inherits. The variables of an agent travel with each session instead, so none of them is here. */
function daemonEnvironment(env: Env, paths: AppPaths): Record<string, string> {
  const kept = Object.entries(env).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined &&
      /^(PCC_\w+|LC_\w+|XDG_\w+)$|^(HOME|PATH|LANG|LANGUAGE|TZ|TMPDIR|USER|LOGNAME|SHELL)$/.test(entry[0]),
  )
  const { PCC_PARENT: _, ...ours } = Object.fromEntries(kept)
  return { ...ours, PCC_HOME: paths.home }
}

/** The first line of the daemon's output; nothing when it ended without one. */
function firstLineOf({ child, stdout }: { child: ChildProcess; stdout: Readable }): Promise<string | undefined> {
  return new Promise(resolve => {
    let text = ''
    const finish = (line: string | undefined) => {
      clearTimeout(timer)
      stdout.destroy()
      resolve(line)
    }
    const timer = setTimeout(() => finish('late'), READY_MS)
    stdout.on('data', chunk => {
      text += String(chunk)
      if (text.includes('\n')) finish(text.slice(0, text.indexOf('\n')))
    })
    stdout.on('end', () => finish(text || undefined))
    child.once('error', () => finish(undefined))
  })
}

/** Where the daemon's last words go: what Node says when it dies, and all it says before it has a log. */
function openErrorFile(file: string, dir: string): number {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    return openSync(file, 'a', 0o600)
  } catch (error) {
    throw unusableDirectory(dir, error)
  }
}

function parsed(line: string): { ready: true } | ErrorReply | undefined {
  try {
    return JSON.parse(line) as { ready: true } | ErrorReply
  } catch {
    return undefined // not the ready line; the caller tells what was said instead
  }
}

function lastWords(file: string, from: number): string {
  const lines = readFileSync(file).subarray(from).toString('utf8').trim().split('\n')
  return lines.findLast(line => /error/i.test(line))?.trim() || lines.at(-1) || 'it ended without a word'
}

/** What is told of a daemon that takes a connection and says nothing: which process it is, and how to be rid of it. */
export function silentDaemonError(paths: AppPaths, patienceMs: number): AppError {
  const pid = readLockHolder(paths)?.pid ?? '<pid>'
  return new AppError('daemon_silent', { home: paths.home, pid, seconds: patienceMs / 1000 })
}
