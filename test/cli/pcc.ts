import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { appPathsFor, dataDirectoryHint } from '../../src/base/app-paths.ts'
import { stopDaemon } from '../../src/cli/commands/daemon.ts'
import { findClient } from '../../src/cli/connection/client.ts'
import { findLivingParent } from '../../src/daemon/parent-process.ts'
import { BIN } from '../support/program.ts'
import { bareEnv, type Ending } from '../support/world.ts'

export interface Outcome {
  code: number | null
  stdout: string
  stderr: string
}

export interface Pcc {
  home: string
  env: Record<string, string>
  /** Runs `pcc` with these arguments to its end. */
  run(args: string[], options?: RunOptions): Promise<Outcome>
  /** Starts `pcc` and leaves it running until the test ends. */
  spawn(args: string[], options?: RunOptions): ChildProcess
}

export interface RunOptions {
  env?: Record<string, string> | undefined
  cwd?: string | undefined
  nodeArgs?: string[]
  /** A `pcc` other than the default one. */
  bin?: string
}

/** A `pcc` with a home of its own; its daemon is stopped when the test ends. */
export function pccFor(t: Ending, extra: Record<string, string> = {}): Pcc {
  const home = mkdtempSync(join(tmpdir(), 'pcc-cli-'))
  const runMarker = process.env['PCC_TEST_RUN'] ? { PCC_TEST_RUN: process.env['PCC_TEST_RUN'] } : {}
  const env = { ...bareEnv(home), PCC_HOME: join(home, 'pcc'), ...runMarker, ...extra }
  const start = (args: string[], options: RunOptions = {}) =>
    spawn(process.execPath, [...(options.nodeArgs ?? []), options.bin ?? BIN, ...args], {
      cwd: options.cwd ?? home,
      env: { ...env, ...options.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  const run = async (args: string[], options: RunOptions = {}) => {
    const child = start(args, options)
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
    return { code: child.exitCode, stdout, stderr }
  }
  t.after(async () => {
    if (!(await stopHere(env))) await run(['daemon', 'stop'])
    rmSync(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
  })
  return {
    home,
    env,
    run,
    spawn(args, options) {
      const child = start(args, options)
      t.after(() => child.kill('SIGKILL'))
      return child
    },
  }
}

/** Stops a daemon as `pcc daemon stop` does, without a process for it. Returns `false` if that took more than asking it once. */
async function stopHere(env: Record<string, string>): Promise<boolean> {
  const paths = appPathsFor({ env })
  if (!existsSync(paths.run) && !existsSync(paths.configFile)) return true
  if (dataDirectoryHint(paths, env) === 'look') return false
  try {
    const client = await findClient(paths)
    if (client && !(await stopDaemon(client, paths, { timeoutMs: 60_000 }))) return false
    return (await findLivingParent(paths)) === undefined
  } catch {
    return false // it does not answer, or refuses: the command knows more ways, and its failure shows as a process left behind
  }
}
