import { readFileSync } from 'node:fs'
import { hostname, userInfo } from 'node:os'
import { join } from 'node:path'
import type { Command } from 'commander'
import { AppError } from '../../../base/errors.ts'
import { neutral } from '../../../base/neutral.ts'
import { problemOf } from '../../../base/process/run-short.ts'
import { programVersion } from '../../../base/program.ts'
import { findClient } from '../../connection/client.ts'
import { type CommandContext, commandContext, ExitCode } from '../../context.ts'
import { countOption } from '../../options.ts'
import { findService, type ServiceScope, type ServiceUnit } from './service-unit.ts'
import { readLinger, readUnitState, requireManager, runTool, type UnitState } from './systemctl.ts'
import { whoseUnit } from './unit-text.ts'

interface ScopeOptions {
  user?: boolean
  system?: boolean
}

/** `pcc service …`: the daemon as a service of systemd or launchd, so that it starts with the machine and stays. */
export function addServiceCommand(program: Command): void {
  const service = program
    .command('service')
    .description('Let the system start the daemon with the machine and keep it up')
  const scoped = (command: Command) =>
    command
      .option('--user', 'for your user (default)')
      .option('--system', 'for the whole system, as root')
      .option('--json', 'print JSON')
  scoped(service.command('install'))
    .description('Write the unit and start it; bring an installed one up to date')
    .option('--now', 'also while sessions are at work; they go on afterwards')
    .option('--yes', 'replace a unit that was edited by hand')
    .action(async (options: ScopeOptions & { now?: boolean; yes?: boolean }, command: Command) => {
      const { installService } = await import('./install.ts')
      const install = { scope: scopeOf(options) ?? 'user', now: options.now === true, yes: options.yes === true }
      await installService(install, await commandContext(command))
    })
  scoped(service.command('uninstall'))
    .description('Stop the service and remove its unit')
    .option('--yes', 'remove a unit that was edited by hand')
    .action(async (options: ScopeOptions & { yes?: boolean }, command: Command) => {
      const { uninstallService } = await import('./install.ts')
      await uninstallService({ scope: scopeOf(options), yes: options.yes === true }, await commandContext(command))
    })
  scoped(service.command('status'))
    .description('Show whether it is installed and runs (exit code 1 if not)')
    .action(async (options: ScopeOptions, command: Command) =>
      showStatus(scopeOf(options), await commandContext(command)),
    )
  service
    .command('logs')
    .description('Show what systemd and the daemon wrote to the journal')
    .option('--user', 'of the service of your user')
    .option('--system', 'of the service of the whole system')
    .option('--tail <n>', 'the last n lines', countOption, 50)
    .option('-f, --follow', 'keep printing lines as they are written')
    .action(async (options: ScopeOptions & { tail: number; follow?: boolean }, command: Command) =>
      showLogs({ ...options, scope: scopeOf(options) }, await commandContext(command)),
    )
  service
    .command('alert')
    .description('Notify you on your channels that systemd has given up the service; systemd runs this')
    .option('--json', 'print JSON')
    .action(async (_options: object, command: Command) => sendAlert(await commandContext(command)))
}

function scopeOf({ user, system }: ScopeOptions): ServiceScope | undefined {
  if (user && system)
    throw new AppError('usage', { problem: '--user and --system exclude each other', command: 'service' })
  return system ? 'system' : user ? 'user' : undefined
}

/** The service that is installed, in one scope or in any. */
function requireService(scope: ServiceScope | undefined, { paths, env }: CommandContext): ServiceUnit {
  const place = findService(paths, { env, scope })
  if (!place) throw new AppError('service_missing', { home: paths.home })
  return place
}

async function showStatus(wanted: ServiceScope | undefined, context: CommandContext): Promise<void> {
  const { paths, env, json, out } = context
  const place = requireService(wanted, context)
  const isEdited = whoseUnit(readFileSync(place.file, 'utf8')) !== 'ours'
  const state = place.manager === 'systemd' ? await readState(place, env) : undefined
  const linger = place.scope === 'user' && state ? await readLinger(userInfo().username, env) : undefined
  const client = await findClient(paths)
  const version = client?.health.version ?? null
  const { unit, scope, file, manager } = place
  if (json) {
    const daemon = { daemon_pid: client?.health.pid ?? null, version, linger: linger ?? null }
    out(JSON.stringify({ unit, manager, scope, file, edited: isEdited, ...state, ...daemon }, null, 2))
  } else {
    const lines = [
      `${unit} (${manager}, ${scope === 'user' ? 'of your user' : 'of the system'})`,
      `  Unit:      ${file}${isEdited ? ', edited by hand' : ''}`,
      ...(state ? stateLines(state) : []),
      `  Daemon:    ${client ? `runs (pid ${client.health.pid}, version ${version})` : 'does not answer'}`,
      ...(version !== null && version !== programVersion()
        ? [`  Update:    ${programVersion()} is installed: pcc service install`]
        : []),
      ...(linger === false ? ['  Log out:   it stops then, and starts when you log in: loginctl enable-linger'] : []),
      ...(linger === true ? ['  Log out:   it goes on, and starts with the machine'] : []),
    ]
    for (const line of lines) out(line)
  }
  if (state ? state.active !== 'active' : !client) throw new ExitCode(1)
}

async function readState(place: ServiceUnit, env: CommandContext['env']): Promise<UnitState> {
  await requireManager(place, env)
  return readUnitState(place, env)
}

function stateLines({ active, sub, enabled, restarts, since, result }: UnitState): string[] {
  const gaveUp = result === 'start-limit-hit' ? '; it died ten times in ten minutes and was given up' : ''
  const why = active === 'failed' ? ` (${result}${gaveUp})` : ''
  return [
    `  State:     ${active}, ${sub}${why}${since ? ` since ${since}` : ''}`,
    `  At start:  ${enabled === 'enabled' ? 'it starts by itself' : `it does not start by itself (${enabled})`}`,
    `  Restarts:  ${restarts}`,
  ]
}

/** The journal may be full, unreadable or not kept: the daemon's own log has the same lines, and more. */
async function showLogs(
  { tail, follow, scope }: { tail: number; follow?: boolean; scope: ServiceScope | undefined },
  context: CommandContext,
): Promise<void> {
  const { paths, env, out, note } = context
  const place = requireService(scope, context)
  const own = join(paths.logs, 'daemon.log')
  if (place.manager === 'launchd') return note(`launchd keeps no log of it. See: pcc daemon logs (${own})`)
  const of = place.scope === 'user' ? ['--user', '--user-unit', place.unit] : ['--unit', place.unit]
  const args = [...of, '--no-pager', '--quiet', '--output=short-iso', '--lines', String(tail)]
  const read = await runTool('journalctl', args, { env })
  const problem = problemOf(read) ?? (read.stdout.trim() === '' ? 'it has no line of this unit' : undefined)
  for (const line of read.stdout.split('\n').filter(Boolean)) out(neutral(line))
  if (problem !== undefined) {
    const said = read.stderr.trim().split('\n')[0]
    note(`The journal says nothing: ${said || problem}. It may be full, or not kept for users.`)
    note(`The daemon's own log is complete: pcc daemon logs (${own})`)
  }
  if (!follow || problem !== undefined) return
  const { runInTerminal } = await import('../../run-in-terminal.ts')
  const following = [...of, '--no-pager', '--quiet', '--output=short-iso', '--lines', '0', '--follow']
  await runInTerminal({ command: 'journalctl', args: following, env })
}

/** Sends one message on every channel that is set up. No daemon is needed: this runs because there is none. */
async function sendAlert(context: CommandContext): Promise<void> {
  const { tellPerson } = await import('../notify.ts')
  const text = `The daemon of PerpetualCC on ${hostname()} could not be kept running, and the system has given up. Nothing works there now. See: pcc service status, pcc service logs`
  const channels = await tellPerson({ kind: 'error', title: 'PerpetualCC is down', text, sound: true }, context)
  if (context.json) context.out(JSON.stringify({ channels }))
  else context.out(channels.length > 0 ? `Told on ${channels.join(', ')}.` : 'No channel is set up: nobody was told.')
}
