import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Readable } from 'node:stream'
import type { AppPaths } from '../../base/app-paths.ts'
import { AppError, type ErrorReply } from '../../base/errors.ts'
import { packagePath } from '../../base/program.ts'
import { withWholePath } from '../../base/search-path.ts'
import { readLockHolder } from '../../daemon/lock.ts'
import { findRestarter, parentFiles, wrapInParent } from '../../daemon/parent-process.ts'
import { makeFolder, unusableDirectory } from '../../daemon/startup.ts'
import { loadConfig } from '../../domain/config/load.ts'
import { RemoteError } from '../errors.ts'

type Env = Record<string, string | undefined>

/** A busy machine may take long to start Node and migrate the store; after this time something is wrong. */
const READY_MS = 30_000

/**
 * Starts the daemon in the background, under a parent process that keeps it running, and waits until it is ready. Returns
 * `running` when another daemon was faster.
 */
export async function startDaemon(paths: AppPaths, env: Env): Promise<'ready' | 'running'> {
  if (await startService(paths, env)) return 'ready'
  const startError = (problem: string) => new AppError('daemon_unreachable', { home: paths.home, problem })
  const errFile = parentFiles(paths).stderr
  const errors = openErrorFile(errFile, paths.data)
  const sizeBefore = fstatSync(errors).size
  const daemonCommand = [process.execPath, BIN, '--config', paths.configFile, '--data-dir', paths.data, 'daemon', 'run']
  const { command, args } = (await wantsParent(paths, env))
    ? wrapInParent(daemonCommand, paths)
    : splitCommand(daemonCommand)
  const child = spawn(command, args, {
    cwd: '/',
    detached: true,
    env: daemonEnvironment(env, paths),
    stdio: ['ignore', 'pipe', errors],
  })
  closeSync(errors)
  child.unref()
  const line = await readFirstLine({ child, stdout: child.stdout as Readable })
  const problem = readProblem(errFile, sizeBefore)
  if (line === 'late') throw startError(`it was not ready within ${READY_MS / 1000} s`)
  if (line === undefined) throw startError(problem)
  const message = parseReadyLine(line)
  if (message === undefined) throw startError(`it said ${JSON.stringify(line.slice(0, 200))}`)
  if (!('error' in message)) return 'ready'
  if (message.error.code === 'daemon_running') return 'running'
  throw new RemoteError(message)
}

/** Lets systemd start its service, if there is one: otherwise two daemons would take turns. Returns `false` if it cannot. */
async function startService(paths: AppPaths, env: Env): Promise<boolean> {
  const { findService } = await import('../commands/service/service-unit.ts')
  const place = findService(paths, { env })
  if (place?.manager !== 'systemd' || findRestarter(env) === 'systemd') return false
  const { systemctl } = await import('../commands/service/systemctl.ts')
  return systemctl(place, ['start', place.unit], env).then(
    () => true,
    () => false, // no bus here, or it was given up: the daemon starts as it does without a service
  )
}

const BIN = packagePath('bin/pcc.js')

/** Settings that cannot be read are reported by the daemon, not here. */
async function wantsParent(paths: AppPaths, env: Env): Promise<boolean> {
  if (findRestarter(env) !== 'nobody') return false
  return loadConfig({ paths, env }).then(
    ({ config }) => config.daemon.parent,
    () => true,
  )
}

function splitCommand([command = '', ...args]: string[]): { command: string; args: string[] } {
  return { command, args }
}

/** The environment of the daemon. Variables for an agent are not part of it: they are sent with each session. */
function daemonEnvironment(env: Env, paths: AppPaths): Record<string, string> {
  const kept = Object.entries(env).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined &&
      /^(PCC_\w+|LC_\w+|XDG_\w+)$|^(HOME|PATH|LANG|LANGUAGE|TZ|TMPDIR|USER|LOGNAME|SHELL)$/.test(entry[0]),
  )
  const { PCC_PARENT: _, ...ours } = Object.fromEntries(kept)
  return { ...withWholePath(ours), PCC_HOME: paths.home, AI_MEMORY_PATH: paths.memory }
}

/** Reads the first line of the daemon's output: `undefined` when it ended without one, `late` when the time is up. */
function readFirstLine({ child, stdout }: { child: ChildProcess; stdout: Readable }): Promise<string | undefined> {
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

/** Opens the file for the daemon's stderr: Node's message when it dies, and everything before the log is open. */
function openErrorFile(file: string, dir: string): number {
  try {
    makeFolder(dirname(file))
    return openSync(file, 'a', 0o600)
  } catch (error) {
    throw unusableDirectory(dir, error)
  }
}

function parseReadyLine(line: string): { ready: true } | ErrorReply | undefined {
  try {
    return JSON.parse(line) as { ready: true } | ErrorReply
  } catch {
    return undefined // not the ready line; the caller quotes it
  }
}

/** The last error line, or the last line, that the daemon wrote to its stderr file after `from`. */
function readProblem(file: string, from: number): string {
  const lines = readFileSync(file).subarray(from).toString('utf8').trim().split('\n')
  return lines.findLast(line => /error/i.test(line))?.trim() || lines.at(-1) || 'it ended without a message'
}

/** The error for a daemon that accepts connections but does not answer. It names the process, so that it can be ended. */
export function silentDaemonError(paths: AppPaths, timeoutMs: number): AppError {
  const pid = readLockHolder(paths)?.pid ?? '<pid>'
  return new AppError('daemon_silent', { home: paths.home, pid, seconds: timeoutMs / 1000 })
}
