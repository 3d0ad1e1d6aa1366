import { chmodSync, lstatSync, rmSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { connect } from 'node:net'
import { join } from 'node:path'
import { openAccountGates } from '../agents/limits/account-gates.ts'
import { openQuota } from '../agents/limits/quota.ts'
import { openDrivers } from '../agents/open.ts'
import { type AppPaths, ownFolders } from '../base/app-paths.ts'
import { DAY_MS, systemClock } from '../base/clock.ts'
import { AppError } from '../base/errors.ts'
import { type Log, type LogOptions, openLog } from '../base/log.ts'
import { openForkServer } from '../base/process/fork-server.ts'
import { findSystemProgram } from '../base/process/peer.ts'
import { setShortRunner } from '../base/process/run-short.ts'
import { programVersion } from '../base/program.ts'
import { type LogName, openSystemLog, type SystemLog } from '../base/system-log.ts'
import { loadConfig } from '../domain/config/load.ts'
import { openSecrets } from '../domain/config/open-secrets.ts'
import { fillSecrets } from '../domain/config/secret-references.ts'
import { Answerer } from '../domain/escalation.ts'
import { AttachedTerminals } from '../human/terminals.ts'
import { noteFolder } from '../memory/outbox.ts'
import { openStore } from '../store/open.ts'
import { startCodeSearch } from '../supervisor/knowledge/code-search.ts'
import { readEmbedding } from '../supervisor/knowledge/embedding.ts'
import { openSupervisorMemory } from '../supervisor/memory/supervisor-memory.ts'
import { Supervisor } from '../supervisor/supervisor.ts'
import { recoverWorktrees } from '../workspace/worktrees/worktrees.ts'
import { openAcceptedFiles } from './accepted-files.ts'
import { enforceDeadlines } from './answers.ts'
import { openAuthenticator } from './api/authenticate.ts'
import { openApiControl } from './api/control.ts'
import { openJwtVerifier } from './api/jwt.ts'
import { ApiKeys } from './api/keys.ts'
import { openLazyMetrics } from './api/metrics.ts'
import { type DaemonContext, readWorktreeDeps } from './context.ts'
import { deliverAnswers } from './deliver-answers.ts'
import { type Disk, watchDisk } from './disk.ts'
import { refreshLauncher } from './hook-launcher.ts'
import { openHookListener } from './hook-listener.ts'
import { collectWhenIdle, openLazyBrains, openLazyPolicy, openLazyWatchdog, openYoungHeap } from './lazy-services.ts'
import { announceReports, runNotifications } from './notifications.ts'
import { recoverSessions, refuseDamagedStore } from './recovery.ts'
import { replayOutbox } from './replay-outbox.ts'
import { startRetention } from './retention.ts'
import { apiRoutes } from './routes/api.ts'
import { loadToken } from './routes/guard.ts'
import { handleHook } from './routes/hooks.ts'
import { buildServer } from './routes/server.ts'
import { catchSignals, drain } from './shutdown.ts'
import type { Announce } from './startup.ts'
import { openSystemd } from './watchdog/systemd.ts'
import { openWebhooks } from './webhooks/webhooks.ts'

export interface Serve {
  paths: AppPaths
  env: Record<string, string | undefined>
  foreground: boolean
  bootId: string
  ready: Announce
}

/**
 * Builds everything in order, serves until asked to stop, and takes it down in reverse. Returns true if the daemon stopped
 * because of an internal failure.
 */
export async function serve({ env, foreground, bootId, ready, ...given }: Serve): Promise<boolean> {
  using forks = openForkServer()
  using _runner = setShortRunner(forks.run)
  refuseDamagedStore(given.paths)
  const late: { disk?: Disk; log?: Log } = {} // set below: they need the settings, which need the store
  await using store = await openStore({ file: given.paths.database, onFailure: error => late.disk?.failed(error) })
  const accepted = await openAcceptedFiles({ store, paths: given.paths, warn: text => late.log?.warn({}, text) })
  const paths = { ...given.paths, accepted: accepted.contents }
  const { config, warnings } = await loadConfig({ paths, env, project: null })
  await accepted.beginAll()
  const version = programVersion()
  const token = loadToken(paths.tokenFile)
  const rotation = {
    level: config.logs.level,
    maxBytes: config.logs.max_bytes,
    keep: config.logs.keep,
    maxAgeMs: config.logs.keep_days * DAY_MS,
  }
  await using system = openCopies(config.logs.syslog, {
    env,
    failed: problem => late.log?.warn({ problem }, LINES_LOST),
  })
  const toTerminal = foreground ? (line: string) => process.stderr.write(line) : undefined
  const openOne = (name: LogName, more: Partial<LogOptions>) =>
    openLog({ ...rotation, file: join(paths.logs, `${name}.log`), copies: [system?.copyFor(name)], ...more })
  const access = openOne('access', { level: 'info', isLazy: true, isBusy: true })
  const agentLog = openOne('agents', { isLazy: true })
  const log = openOne('daemon', { copies: [system?.copyFor('daemon'), toTerminal], alike: [access, agentLog] })
  late.log = log
  log.hide([token])
  for (const warning of [...warnings, ...accepted.contents.notes()]) log.warn({}, warning)
  const secrets = openSecrets({
    paths,
    env,
    seen: value => void log.hide([value]),
    failed: (name, problem) => log.warn({ name, problem }, 'a secret cannot be read'),
  })
  using systemd = openSystemd(env, log)
  using youngHeap = openYoungHeap()
  await using watchdog = openLazyWatchdog({
    limitMs: config.daemon.watchdog_seconds * 1000,
    logs: paths.logs,
    live: () => supervisor.liveCount,
    lost: error => log.warn({ error }, 'the watchdog has ended'),
  })
  await using keys = new ApiKeys({
    store,
    clock: systemClock,
    failed: error => log.warn({ error }, 'the last use of a key was not recorded'),
  })
  const verifyJwt = openJwtVerifier({
    ...{ env, log, now: systemClock.now },
    settings: async () => (await fillSecrets((await loadConfig({ paths, env })).config, secrets)).api.jwt,
  })
  const tmux = { run: paths.run, socket: paths.socket, env }
  await using drivers = openDrivers(line => agentLog.debug({ line }, 'driver'), { tmux })
  using policy = openLazyPolicy(ownFolders(paths))
  using code = startCodeSearch(paths, {
    embeddingFor: project => readEmbedding(project, { paths, env, policy, secrets }),
  })
  await using memory = openSupervisorMemory({ paths, env, store, log, embed: code.embed })
  const brains = openLazyBrains(secrets)
  const terminals = new AttachedTerminals()
  const gates = openAccountGates({ store, clock: systemClock })
  const quota = openQuota({
    store,
    clock: systemClock,
    settings: async () => (await loadConfig({ paths, env, project: null })).config.quota,
  })
  const supervisor = new Supervisor({
    store,
    terminals,
    policy,
    clock: systemClock,
    paths,
    env,
    driverFor: drivers.get,
    brainsFor: brains.get,
    secrets,
    bootId,
    log,
    quota,
    gates,
    code,
    memory,
    agentEnv: definedIn(env),
    mayStart: () => {
      watchdog.begin()
      youngHeap.grow()
      return late.disk?.mayStart()
    },
  })
  using disk = watchDisk({
    dir: paths.data,
    minFreeMb: config.data.min_free_mb,
    log,
    busy: () => supervisor.liveCount > 0,
    held: ({ reason }) => supervisor.holdForDisk(reason),
    prove: () => store.append([{ actor: 'daemon', subject: 'daemon', kind: 'disk.freed', body: {} }]),
    freed: () => supervisor.wakeWaiting(),
  })
  late.disk = disk
  await using metrics = openLazyMetrics(() => daemon)
  const stopping = new AbortController()
  const settled = new AbortController()
  const daemon: DaemonContext = {
    paths,
    version,
    agentEnv: definedIn(env),
    bootId,
    person: Answerer.catch('human').parse(env['PCC_DEMO_PERSON']),
    startedAt: Date.now(),
    token,
    keys,
    authenticator: openAuthenticator({ keys, verifyJwt }),
    metrics,
    log,
    access,
    store,
    accepted,
    terminals,
    supervisor,
    quota,
    gates,
    code,
    memory,
    disk,
    policy,
    brainsFor: brains.get,
    secrets,
    webhooks: openWebhooks(() => daemon, env),
    watchdogSeconds: config.daemon.watchdog_seconds,
    stopping: stopping.signal,
    settled: settled.signal,
    streams: new Set(),
    cutsOff: false,
    stop: (reason, { goOn = false } = {}) => {
      if (stopping.signal.aborted) return
      daemon.cutsOff = goOn
      stopping.abort(reason)
    },
  }
  using signals = catchSignals(daemon)

  // This comes before anything is taken over: a daemon that answers on the socket is alive, even if we cannot see its process
  // (it may run in another container).
  await clearSocketPath(paths.socket)
  daemon.recovered = await recoverSessions(daemon)
  await recoverWorktrees(await readWorktreeDeps({ paths, env, store, log }))
  await supervisor.forgetOver()
  const app = buildServer(daemon)
  await using hooks = openHookListener(paths, { answer: call => handleHook(daemon, call), log })
  app.post('/hook-listener', async () => ({ port: (await hooks.open()) ?? null }))
  await using api = openApiControl(daemon, env)
  apiRoutes(app, api)
  await app.listen({ path: paths.socket })
  chmodSync(paths.socket, 0o600)
  const [started] = await store.append([
    { actor: 'daemon', subject: 'daemon', kind: 'daemon.started', body: { pid: process.pid, version } },
  ])
  log.info({ version, socket: paths.socket, boot: bootId }, 'daemon started')
  await hooks.open()
  if (config.api.enabled) await api.on().catch(error => log.error({ error }, 'the API cannot listen'))
  const replaying = replayOutbox(daemon)
  keepLauncher(paths, { env, log })
  const delivering = deliverAnswers(daemon).catch(error => log.error({ error }, 'answers could not be delivered'))
  if ((await store.sessions.waiting()).length > 0) watchdog.begin()
  supervisor.wakeWaiting()
  const deadlines = enforceDeadlines(daemon)
  await supervisor.completion.lookAtAll()
  await supervisor.runs.lookAtAll()
  await supervisor.features.lookAtAll()
  const running = supervisor.runs
    .follow(started?.id ?? 0, stopping.signal)
    .catch(error => log.error({ error }, 'runs are no longer followed'))
  const completing = supervisor.completion
    .follow(started?.id ?? 0, stopping.signal)
    .catch(error => log.error({ error }, 'finished work is no longer followed'))
  const planning = supervisor.features
    .follow(started?.id ?? 0, stopping.signal)
    .catch(error => log.error({ error }, 'features are no longer followed'))
  const notifying = runNotifications(daemon, { env, since: started?.id ?? 0, settings: config.notifications })
  const hooked = daemon.webhooks.run(started?.id ?? 0)
  const reports = announceReports(daemon, { env, since: started?.time ?? Date.now() })
  ready({ ready: true }, `The daemon for ${paths.home} is ready (pid ${process.pid}). Ctrl+C stops it.`)
  saveCompileCache()

  {
    using _collecting = collectWhenIdle({ isIdle: () => supervisor.liveCount === 0 })
    await using _retention = startRetention({ paths, env, store, log })
    await systemd.ready()
    await waitForAbort(stopping.signal)
    await systemd.stopping()
  }
  await Promise.all([reports.close(), deadlines.close()])
  await drain(daemon, { app, settle: () => settled.abort() })
  await Promise.all([replaying, delivering, notifying, hooked, running, completing, planning])
  rmSync(paths.socket, { force: true })
  log.info({ reason: stopping.signal.reason }, 'daemon stopped')
  for (const each of [access, agentLog, log]) each.close()
  return signals.failed
}

const LINES_LOST = 'lines of the logs do not reach logs.syslog'

/** Copies of log lines for the system's log, if the settings say so. */
function openCopies(
  target: string | undefined,
  { env, failed }: Pick<Serve, 'env'> & { failed(problem: string): void },
): SystemLog | undefined {
  if (target === undefined) return undefined
  return openSystemLog(target, { find: program => findSystemProgram(program, env), failed })
}

/** pcc or node may have moved since the hooks were installed. */
function keepLauncher(paths: AppPaths, { env, log }: Pick<Serve, 'env'> & { log: Log }): void {
  try {
    noteFolder(paths)
    if (refreshLauncher(paths, { env }) === 'written') log.info({}, 'the launcher of hooks was written again')
  } catch (error) {
    log.warn({ error }, 'the launcher of hooks could not be written: pcc hooks doctor')
  }
}

function definedIn(env: Serve['env']): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined))
}

function waitForAbort(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

/**
 * Frees the socket's path. The socket of a dead daemon is removed; anything else at the path is left alone and refused.
 * The caller holds the daemon's lock, so no other daemon of ours is about to listen there.
 */
async function clearSocketPath(path: string): Promise<void> {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  if (!stat) return
  if (!stat.isSocket() || (await isAnswering(path))) throw new AppError('socket_occupied', { path })
  rmSync(path, { force: true })
}

/** Only a refused connection proves that nobody listens; any other outcome leaves the file where it is. */
function isAnswering(path: string): Promise<boolean> {
  return new Promise(resolve => {
    const probe = connect(path)
    probe.once('connect', () => {
      probe.destroy()
      resolve(true)
    })
    probe.once('error', (error: NodeJS.ErrnoException) => {
      resolve(error.code !== 'ECONNREFUSED' && error.code !== 'ENOENT')
    })
  })
}

/**
 * Saves the code compiled so far. Node does this when it exits, which a killed daemon never does: its successor would compile
 * everything again at the moment when all its sessions wait for it. If nothing new was compiled, nothing is written.
 */
function saveCompileCache(): void {
  flushCompileCache()
}
