import { existsSync } from 'node:fs'
import { AppError } from '../../../base/errors.ts'
import { findProgram } from '../../../base/process/find-program.ts'
import { problemOf, runShort, type ShortCommandResult } from '../../../base/process/run-short.ts'
import { pathOutsideProjects } from '../../../base/search-path.ts'
import type { ServiceUnit } from './service-unit.ts'

type Env = Record<string, string | undefined>

/** A start waits until the daemon is ready, which may have a large store to bring up to date. */
const PATIENCE_MS = 11 * 60_000
const QUICK_MS = 20_000

/** Programs of the service manager. Every outcome is a value. */
export function runTool(
  command: string,
  args: readonly string[],
  { env, timeoutMs = QUICK_MS }: { env: Env; timeoutMs?: number },
): Promise<ShortCommandResult> {
  const PATH = pathOutsideProjects(env['PATH'])
  return runShort({ command, args, cwd: '/', env: { ...withRuntimeDir(env), PATH }, timeoutMs, maxBytes: 4_000_000 })
}

/** `su` and some remote shells leave the variable out, although the bus is there. */
function withRuntimeDir(env: Env): Env {
  const standard = `/run/user/${process.getuid?.() ?? 0}`
  if (env['XDG_RUNTIME_DIR'] || !existsSync(standard)) return env
  return { ...env, XDG_RUNTIME_DIR: standard }
}

/** Runs `systemctl` for the service's scope; throws with what it said. */
export async function systemctl(
  { scope }: Pick<ServiceUnit, 'scope'>,
  words: readonly string[],
  env: Env,
): Promise<string> {
  const args = [...(scope === 'user' ? ['--user'] : []), '--no-ask-password', ...words]
  const result = await runTool('systemctl', args, { env, timeoutMs: PATIENCE_MS })
  const problem = problemOf(result)
  if (problem === undefined) return result.stdout
  const said = result.stderr.trim().split('\n').slice(0, 3).join(' ') || problem
  throw new AppError('service_failed', { command: ['systemctl', ...args].join(' '), problem: said.replace(/\.$/, '') })
}

/** Refuses where no service manager can take the daemon, and says what to do instead. */
export async function requireManager({ manager, scope }: ServiceUnit, env: Env): Promise<void> {
  const refuse = (problem: string, way: string) => new AppError('service_unavailable', { problem, way })
  const tool = manager === 'launchd' ? 'launchctl' : 'systemctl'
  if (!findProgram(tool, { PATH: pathOutsideProjects(env['PATH']) }))
    throw refuse(`${tool} is not installed`, WITHOUT_MANAGER)
  if (manager === 'launchd') return
  // The same test as systemd's own programs make.
  if (!existsSync('/run/systemd/system')) throw refuse('this machine was not started with systemd', WITHOUT_MANAGER)
  if (scope === 'system') {
    if (process.getuid?.() !== 0) throw refuse('only root can install a service of the system', AS_ROOT)
    return
  }
  const result = await runTool('systemctl', ['--user', 'show', '--property=Version', '--value'], { env })
  if (problemOf(result) !== undefined)
    throw refuse(
      `your user has no bus of systemd (${result.stderr.trim().split('\n')[0] || problemOf(result)})`,
      NO_BUS,
    )
}

const WITHOUT_MANAGER =
  'Every command starts the daemon by itself, and it is kept running. To start it with the machine: a line "@reboot pcc daemon start" in crontab -e'
const NO_BUS =
  'Log in as yourself (not by su or sudo), or run: loginctl enable-linger, log in again, and retry; or install it for the system as root: pcc service install --system'
const AS_ROOT = 'Run it with sudo, or install it for your user: pcc service install --user'

/** The version of systemd; 0 if it does not say. */
export async function systemdVersion(env: Env): Promise<number> {
  const { stdout } = await runTool('systemctl', ['--version'], { env })
  return Number(/^systemd (\d+)/.exec(stdout)?.[1] ?? 0)
}

export interface UnitState {
  active: string
  sub: string
  enabled: string
  restarts: number
  pid: number
  /** When it became what it is, as systemd writes it. */
  since: string
  result: string
}

/** What systemd knows of the unit. */
export async function readUnitState(place: ServiceUnit, env: Env): Promise<UnitState> {
  const names = ['ActiveState', 'SubState', 'UnitFileState', 'NRestarts', 'MainPID', 'StateChangeTimestamp', 'Result']
  const text = await systemctl(place, ['show', place.unit, `--property=${names.join(',')}`], env)
  const value = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(text)?.[1] ?? ''
  return {
    active: value('ActiveState'),
    sub: value('SubState'),
    enabled: value('UnitFileState'),
    restarts: Number(value('NRestarts')) || 0,
    pid: Number(value('MainPID')) || 0,
    since: value('StateChangeTimestamp'),
    result: value('Result'),
  }
}

/** Whether the user's services run without a login; undefined if nobody can say. */
export async function readLinger(user: string, env: Env): Promise<boolean | undefined> {
  const { code, stdout } = await runTool('loginctl', ['show-user', user, '--property=Linger', '--value'], { env })
  return code === 0 ? stdout.trim() === 'yes' : undefined
}
