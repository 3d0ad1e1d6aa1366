import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from 'commander'
import type { AppPaths } from '../../base/app-paths.ts'
import { AppError } from '../../base/errors.ts'
import { neutral } from '../../base/neutral.ts'
import { isAlive, type ProcessIdentity, startTimeOf } from '../../base/process/process-table.ts'
import { findLivingParent, readVerdict } from '../../daemon/parent-process.ts'
import type { Health } from '../../domain/api.ts'
import type { RunView } from '../../domain/run.ts'
import { type CheckedClient, findClient, openClient } from '../connection/client.ts'
import { type CommandContext, commandContext, ExitCode } from '../context.ts'
import { countOption } from '../options.ts'
import { counted, duration } from '../render/format.ts'
import { addDaemonApiCommand } from './daemon-api.ts'

/** Generous: a stop ends every agent first, which takes long on a busy machine. */
const STOP_MS = 60_000

/** `pcc daemon …`: the background process. Other commands start it by themselves. */
export function addDaemonCommand(program: Command): void {
  const daemon = program.command('daemon').description('Start, stop and check the background process')
  const add = (name: string, description: string, action: (context: CommandContext) => Promise<number>) =>
    daemon
      .command(name)
      .description(description)
      .option('--json', 'print JSON')
      .action(async (_options: unknown, command: Command) => {
        throw new ExitCode(await action(await commandContext(command)))
      })
  add('start', 'Start it, unless it runs already', start)
  add('stop', 'Stop it; running sessions are stopped first, runs paused', stop)
  add('restart', 'Stop it and start it again; running sessions go on', restart)
  add('status', 'Show whether it runs (exit code 1 if not)', status)
  addDaemonApiCommand(daemon)
  daemon
    .command('logs')
    .description('Show its log')
    .option('--tail <n>', 'the last n lines', countOption, 50)
    .option('-f, --follow', 'keep printing lines as they are written')
    .action(async (options: { tail: number; follow?: boolean }, command: Command) =>
      logs(options, await commandContext(command)),
    )
  daemon
    .command('run')
    .description('Run it in the foreground, for service managers')
    .action(async (_options: unknown, command: Command) => {
      const { paths, env } = await commandContext(command)
      const { runDaemon } = await import('../../daemon/main.ts')
      throw new ExitCode(await runDaemon({ paths, env, foreground: process.stdout.isTTY === true }))
    })
}

async function start(context: CommandContext): Promise<number> {
  const running = await findClient(context.paths)
  const givenUp = running ? undefined : describeGivingUp(context)
  if (givenUp) context.note(givenUp)
  const { health } = await openClient(context.paths, context)
  return print(context, health, `The daemon ${running ? 'already runs' : 'is running'} (pid ${health.pid}).`)
}

/** systemd itself restarts its service: a daemon that only ends would be started by both. */
async function restart(context: CommandContext): Promise<number> {
  const client = await findClient(context.paths)
  if (client && (await actOnService('restart', client, context))) return start(context)
  if (client) await endDaemon(client, context)
  else await stopParent(context.paths, STOP_MS)
  return start(context)
}

/** Ends a daemon and its parent; its sessions go on with the next one. */
export async function endDaemon(client: CheckedClient, context: CommandContext): Promise<void> {
  await drain(client, context, { goOn: true })
  await stopParent(context.paths, STOP_MS)
}

/** Lets systemd stop or restart the daemon if it is its service. Returns `false` if it is not. */
async function actOnService(
  verb: 'stop' | 'restart',
  { health, request }: CheckedClient,
  { paths, env, note }: CommandContext,
): Promise<boolean> {
  if (health.kept_by !== 'systemd') return false
  const [{ findService }, { readUnitState, systemctl }] = await Promise.all([
    import('./service/service-unit.ts'),
    import('./service/systemctl.ts'),
  ])
  const place = findService(paths, { env })
  if (place?.manager !== 'systemd' || (await readUnitState(place, env)).pid !== health.pid) return false
  // A signal of systemd alone would let its sessions go on with the next daemon. It starts none while it stops the unit.
  if (verb === 'stop') await request('POST', '/daemon/stop', { go_on: false })
  await systemctl(place, [verb, place.unit], env)
  if (verb === 'stop') note(`${place.unit} is stopped until you start it, or the machine starts.`)
  return true
}

async function stop(context: CommandContext): Promise<number> {
  const client = await findClient(context.paths)
  const runs = client ? await openRuns(client) : []
  if (!client || !(await actOnService('stop', client, context))) await drain(client, context)
  const wasWaiting = await stopParent(context.paths, STOP_MS)
  const text = client ? 'The daemon is stopped.' : wasWaiting ? WAS_WAITING : 'The daemon is not running.'
  const paused = runs.map(id => `Run ${id} is paused; go on with: pcc resume ${id}`)
  return print(context, { status: 'stopped' }, [text, ...paused].join('\n'))
}

/** The runs that the stop pauses. A daemon that fails to list them is stopped all the same. */
async function openRuns(client: CheckedClient): Promise<string[]> {
  const { runs } = await client.request<{ runs: RunView[] }>('GET', '/runs?limit=50').catch(() => ({ runs: [] }))
  return runs.filter(({ state }) => state !== 'ended').map(({ id }) => id)
}

const WAS_WAITING = 'The daemon had died and was about to be started again; it stays down now.'

async function status(context: CommandContext): Promise<number> {
  const client = await findClient(context.paths)
  if (!client) {
    const lines = [describeGivingUp(context), 'The daemon is not running. Any command that needs it starts it.']
    print(context, { status: 'stopped' }, lines.filter(Boolean).join('\n'))
    return 1
  }
  const { health } = client
  const lines = [
    `The daemon is running (pid ${health.pid}, version ${health.version}).`,
    `  Up for:    ${duration(Date.now() - health.started_at)}`,
    `  Sessions:  ${health.sessions.live} live, ${health.sessions.total} in all`,
    `  Kept by:   ${KEEPER_TEXT[health.kept_by ?? 'nobody']}`,
    `  Home:      ${health.home}`,
    `  Data:      ${health.data}`,
    `  Socket:    ${context.paths.socket}`,
  ]
  return print(context, health, lines.join('\n'))
}

/** Reads the verdict that the daemon's parent wrote when it gave up restarting it. */
function describeGivingUp({ paths }: CommandContext): string | undefined {
  const verdict = readVerdict(paths)
  if (!verdict) return undefined
  const how = verdict.why === 'refused' ? 'refused to start again' : `died ${counted(verdict.deaths, 'time')} in a row`
  return `The daemon ${how} and was given up ${duration(Date.now() - verdict.at)} ago. Why: pcc doctor, pcc daemon logs`
}

const KEEPER_TEXT: Record<NonNullable<Health['kept_by']>, string> = {
  parent: 'its parent, which starts it again when it dies',
  systemd: 'systemd',
  launchd: 'launchd',
  nobody: 'nobody: when it dies, the next command starts it',
}

/** Stops the daemon and returns when its process is gone, so that a restart does not meet its predecessor. */
async function drain(
  client: CheckedClient | undefined,
  { paths, note }: CommandContext,
  { goOn }: { goOn: boolean } = { goOn: false },
): Promise<void> {
  if (!client) return
  if (client.health.sessions.live > 0) note(`Stopping ${counted(client.health.sessions.live, 'running session')}...`)
  if (await stopDaemon(client, paths, { timeoutMs: STOP_MS, goOn })) return
  const problem = `process ${client.health.pid} is still there after ${STOP_MS / 1000} s`
  throw new AppError('daemon_unreachable', { home: paths.home, problem })
}

async function logs(
  { tail, follow }: { tail: number; follow?: boolean },
  { paths, out }: CommandContext,
): Promise<void> {
  const file = join(paths.logs, 'daemon.log')
  let shown = readLog(file)
  const lines = shown.split('\n').filter(Boolean)
  if (lines.length === 0) out(`Nothing is logged in ${file} yet.`)
  for (const line of tail ? lines.slice(-tail) : []) out(neutral(line))
  const leave = new AbortController()
  process.once('SIGINT', () => leave.abort())
  while (follow && !leave.signal.aborted) {
    await sleep(300, undefined, { signal: leave.signal }).catch(() => {}) // aborted: the loop ends
    const now = readLog(file)
    // A file that does not continue the text shown was rotated: all of it is new.
    const fresh = now.startsWith(shown) ? now.slice(shown.length) : now
    for (const line of fresh.split('\n').filter(Boolean)) out(neutral(line))
    shown = now
  }
}

function readLog(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw error
  }
}

function print({ json, out }: CommandContext, data: Health | { status: 'stopped' }, text: string): number {
  out(json ? JSON.stringify(data, null, 2) : text)
  return 0
}

export interface StopDaemonOptions {
  timeoutMs: number
  /** Its sessions are only interrupted, and go on with the next daemon. */
  goOn?: boolean
}

/** Asks the daemon to stop and waits until its process, and the parent that kept it, are gone. Returns `false` on a timeout. */
export async function stopDaemon(client: CheckedClient, paths: AppPaths, options: StopDaemonOptions): Promise<boolean> {
  const { pid } = client.health
  const startTime = await startTimeOf(pid)
  const parent = await findLivingParent(paths)
  await client.request('POST', '/daemon/stop', { go_on: options.goOn ?? false })
  const daemon = startTime === undefined ? undefined : { pid, startTime }
  return waitUntilGone([daemon, parent], options.timeoutMs)
}

/** Ends a parent that waits to start its daemon again. Returns `false` if there is none. */
async function stopParent(paths: AppPaths, timeoutMs: number): Promise<boolean> {
  const parent = await findLivingParent(paths)
  if (!parent) return false
  process.kill(parent.pid, 'SIGTERM')
  return waitUntilGone([parent], timeoutMs)
}

async function waitUntilGone(processes: (ProcessIdentity | undefined)[], timeoutMs: number): Promise<boolean> {
  const known = processes.filter(each => each !== undefined)
  for (const deadline = Date.now() + timeoutMs; Date.now() < deadline; await sleep(20)) {
    const alive = await Promise.all(known.map(isAlive))
    if (!alive.includes(true)) return true
  }
  return false
}
