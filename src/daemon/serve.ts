import { chmodSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { openGates } from '../agents/limits/gates.ts'
import { openDrivers } from '../agents/open.ts'
import { openQuota } from '../agents/quota/quota.ts'
import { HookDesk } from '../agents/tmux/hooks/desk.ts'
import { systemClock } from '../base/clock.ts'
import { openLog } from '../base/log.ts'
import type { Places } from '../base/places.ts'
import { openForks } from '../base/process/short/forks.ts'
import { lendStarter } from '../base/process/short/run-short.ts'
import { programVersion } from '../base/version.ts'
import { loadConfig } from '../domain/config/load.ts'
import { Terminals } from '../human/terminals.ts'
import { openStore } from '../store/open.ts'
import { Supervisor } from '../supervisor/supervisor.ts'
import { recoverWorktrees } from '../workspace/worktrees/gone/recover.ts'
import { brainShelf } from './brain-shelf.ts'
import { type Disk, watchDisk } from './disk/watch-disk.ts'
import { drain } from './drain.ts'
import { buildServer } from './http/server.ts'
import { keepDeadlines } from './human/deadlines.ts'
import { tidyWhenIdle } from './idle-memory.ts'
import { tellPeople } from './notify/tell-people.ts'
import { policyShelf } from './policy-shelf.ts'
import { tellReports } from './report/tell-report.ts'
import { startRetention } from './retention/start.ts'
import { catchSignals } from './signals.ts'
import { refuseDamaged } from './start/check-store.ts'
import { deliverAnswers } from './start/deliver-answers.ts'
import { keepCompiled } from './start/keep-compiled.ts'
import type { Announce } from './start/readiness.ts'
import { recoverSessions } from './start/recover-sessions.ts'
import { clearSocketPath } from './start/socket.ts'
import { tokenIn } from './start/token.ts'
import { watchdogFrom } from './watchdog/begin.ts'
import { openSystemd } from './watchdog/systemd.ts'
import { worktreeParts } from './worktrees/parts.ts'
import type { World } from './world.ts'

const DAY_MS = 24 * 60 * 60_000

export interface Serve {
  places: Places
  env: Record<string, string | undefined>
  foreground: boolean
  bootId: string
  ready: Announce
}

/** Builds everything in order, serves until told to stop, and takes it down in reverse. True when something went wrong inside. */
export async function serve({ places, env, foreground, bootId, ready }: Serve): Promise<boolean> {
  using forks = openForks()
  using _lent = lendStarter(forks.run)
  const { config } = await loadConfig({ places, env })
  const version = programVersion()
  const token = tokenIn(places.tokenFile)
  const log = openLog({
    file: join(places.logs, 'daemon.log'),
    level: config.logs.level,
    maxBytes: config.logs.max_bytes,
    keep: config.logs.keep,
    maxAgeMs: config.logs.keep_days * DAY_MS,
    copyTo: foreground ? line => process.stderr.write(line) : undefined,
  })
  log.hide([token])
  using systemd = openSystemd(env, log)
  await using watchdog = watchdogFrom({
    limitMs: config.daemon.watchdog_seconds * 1000,
    logs: places.logs,
    live: () => supervisor.liveCount,
    lost: error => log.warn({ error }, 'the watchdog is gone'),
  })
  refuseDamaged(places)
  const late: { disk?: Disk } = {} // it needs the store, which tells it of its failures
  await using store = await openStore({ file: places.database, onFailure: error => late.disk?.failed(error) })
  const hooks = new HookDesk()
  const tmux = { run: places.run, socket: places.socket, env, desk: hooks }
  await using drivers = openDrivers(line => log.debug({ line }, 'driver'), { tmux })
  using policy = policyShelf()
  const terminals = new Terminals()
  const gates = openGates({ store, clock: systemClock })
  const quota = openQuota({
    store,
    clock: systemClock,
    settings: async () => (await loadConfig({ places, env })).config.quota,
  })
  const supervisor = new Supervisor({
    store,
    terminals,
    policy,
    clock: systemClock,
    places,
    env,
    driverFor: drivers.get,
    brainsFor: brainShelf().get,
    bootId,
    log,
    quota,
    gates,
    agentEnv: definedIn(env),
    mayStart: () => {
      watchdog.begin()
      return late.disk?.mayStart()
    },
  })
  using disk = watchDisk({
    dir: places.data,
    minFreeMb: config.data.min_free_mb,
    log,
    busy: () => supervisor.liveCount > 0,
    held: ({ reason }) => supervisor.holdForDisk(reason),
    prove: () => store.append([{ actor: 'daemon', subject: 'daemon', kind: 'disk.freed', body: {} }]),
    freed: () => supervisor.wakeWaiting(),
  })
  late.disk = disk
  const stopping = new AbortController()
  const settled = new AbortController()
  const world: World = {
    places,
    version,
    agentEnv: definedIn(env),
    bootId,
    startedAt: Date.now(),
    token,
    log,
    store,
    terminals,
    supervisor,
    quota,
    gates,
    hooks,
    disk,
    watchdogSeconds: config.daemon.watchdog_seconds,
    stopping: stopping.signal,
    settled: settled.signal,
    streams: new Set(),
    cutsOff: false,
    stop: (reason, { goOn = false } = {}) => {
      if (stopping.signal.aborted) return
      world.cutsOff = goOn
      stopping.abort(reason)
    },
  }
  using signals = catchSignals(world)

  // Before anything is taken away: whoever answers there (from another container, say, whose processes are not seen) is alive.
  await clearSocketPath(places.socket)
  world.recovered = await recoverSessions(world)
  await recoverWorktrees(await worktreeParts({ places, env, store, log }))
  await supervisor.forgetOver()
  const app = buildServer(world)
  await app.listen({ path: places.socket })
  chmodSync(places.socket, 0o600)
  const [started] = await store.append([
    { actor: 'daemon', subject: 'daemon', kind: 'daemon.started', body: { pid: process.pid, version } },
  ])
  log.info({ version, socket: places.socket, boot: bootId }, 'daemon started')
  const delivered = deliverAnswers(world).catch(error => log.error({ error }, 'answers could not be delivered'))
  if ((await store.sessions.waiting()).length > 0) watchdog.begin()
  supervisor.wakeWaiting()
  const deadlines = keepDeadlines(world)
  await supervisor.landing.lookAtAll()
  await supervisor.runs.lookAtAll()
  await supervisor.features.lookAtAll()
  const running = supervisor.runs
    .follow(started?.id ?? 0, stopping.signal)
    .catch(error => log.error({ error }, 'runs are not looked after any more'))
  const landing = supervisor.landing
    .follow(started?.id ?? 0, stopping.signal)
    .catch(error => log.error({ error }, 'what is done is not looked after any more'))
  const planned = supervisor.features
    .follow(started?.id ?? 0, stopping.signal)
    .catch(error => log.error({ error }, 'features are not looked after any more'))
  const told = tellPeople(world, { env, since: started?.id ?? 0, settings: config.notifications })
  const reports = tellReports(world, { env, since: started?.time ?? Date.now() })
  ready({ ready: true }, `The daemon for ${places.home} is ready (pid ${process.pid}). Ctrl+C stops it.`)
  keepCompiled()

  {
    using _tidy = tidyWhenIdle({ isIdle: () => supervisor.liveCount === 0 })
    await using _retention = startRetention({ places, env, store, log })
    await systemd.ready()
    await aborted(stopping.signal)
    await systemd.stopping()
  }
  await reports.close()
  await drain(world, { app, settle: () => settled.abort() })
  await Promise.all([delivered, deadlines, told, running, landing, planned])
  rmSync(places.socket, { force: true })
  log.info({ reason: stopping.signal.reason }, 'daemon stopped')
  log.close()
  return signals.failed
}

function definedIn(env: Serve['env']): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined))
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
