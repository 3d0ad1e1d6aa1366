import { closeSync, existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AppError } from '../errors.ts'
import { bubblewrapCommand, type Mounts, mountArgs, NAMESPACES } from './bubblewrap.ts'
import { CACHE_VARIABLES, cachesBehind, withLayers } from './caches.ts'
import { guardGit, openGitSettings } from './git.ts'
import { clearScratch, copySettings, keptFolder, makeScratch, watchCopy } from './home.ts'
import { comparingCommand } from './mount-sources.ts'
import { BRIDGE_SCRIPT, hostsFor, openProxy, ownPorts, PROXY_PORT } from './network.ts'
import { type BeforeAgent, readBefore, readSavedBefore, removePlanted, saveBefore } from './planted.ts'
import { PrivateFolders } from './private-folders.ts'
import { linkReplaced, seatbeltProfile } from './seatbelt.ts'
import { scopedCommand, writeFilter } from './seccomp.ts'
import type { SandboxNeeds, SandboxProgram, SandboxSettings } from './settings.ts'
import { identifyMounts, mountsFor, realHome, type SandboxedCommand } from './visible-paths.ts'

/** A sandbox for one agent or one command of a project: it wraps the command. */
export interface Sandbox extends AsyncDisposable {
  /** Aborts when the agent has found a way to do something outside: it must be ended. */
  readonly breached: AbortSignal
  /** Whether the judgement of calls may count on it: it makes namespaces, which tests have attacked. A profile of Seatbelt has run nowhere yet. */
  readonly isWall: boolean
  /** The agent's own folder, as it is outside. */
  readonly agentFolder: string
  /** What pcc keeps of this agent for the project. */
  readonly keptFolder: string
  wrap(starting: SandboxedCommand, own: { pidNamespace: boolean }): Pick<SandboxedCommand, 'command' | 'args' | 'env'>
  /** Whether a bridge to the network runs inside, around the command. */
  readonly hasBridge: boolean
  /** The folders that only this sandbox has, for an agent that gets several tasks one after the other. */
  readonly folders: PrivateFolders
  /** Removes what the task that is over has left for git outside to follow, as the end of the sandbox does. */
  endTask(): void
  /** From here on, what somebody else has put into the repository since the last task is not taken for the agent's. */
  beginTask(): void
  /** Names what it would be made of now; throws where it would be refused. */
  identify(starting: Pick<SandboxedCommand, 'cwd' | 'env'>): string
}

interface Opening {
  bubblewrap: SandboxProgram
  settings: SandboxSettings
  needs: SandboxNeeds
  env: Record<string, string | undefined>
  /** A session that only reads: nothing of the project may be written. */
  reading: boolean
  log(line: string): void
}

/** Variables for powerful sockets of the machine, which are not in the sandbox. */
const LEFT_OUT = [
  'SSH_AUTH_SOCK',
  'SSH_AGENT_PID',
  'DBUS_SESSION_BUS_ADDRESS',
  'XDG_RUNTIME_DIR',
  'DISPLAY',
  'WAYLAND_DISPLAY',
  'DOCKER_CONTEXT',
]

/**
 * Settings of git that hold inside: the person's key is not there to sign with, and a branch that follows another one would be noted in the
 * repository's settings, which are read-only.
 */
const GIT_SETTINGS = { 'commit.gpgSign': 'false', 'tag.gpgSign': 'false', 'branch.autoSetupMerge': 'false' }

/** Whoever reaches Docker's socket is root on the machine. What docker prints about a host that it cannot reach says why. */
const NO_DOCKER = 'unix:///docker-is-not-in-the-sandbox/agents.sandbox_write-can-show-its-socket'

/**
 * Opens a sandbox with a proxy for the listed hosts; `*` leaves the network as it is. A folder of ours or of the person's home that cannot be
 * used is reported, with what to do.
 */
export function openSandbox(opening: Opening): Sandbox {
  const sandbox = explainErrors(() => openOnce(opening))
  return { ...sandbox, wrap: (starting, own) => explainErrors(() => sandbox.wrap(starting, own)) }
}

function explainErrors<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    const { code, path, syscall } = error as NodeJS.ErrnoException
    if (error instanceof AppError || code === undefined || path === undefined) throw error
    throw new AppError('sandbox_folder', { path, problem: code, remedy: remedyFor(code, syscall) }, error)
  }
}

function remedyFor(code: string, syscall: string | undefined): string {
  if (syscall === 'watch' && code === 'ENOSPC')
    return 'It cannot be watched, because no inotify watches are left: raise fs.inotify.max_user_watches with sysctl, or close an editor that uses them up.'
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return 'Free some space. The package caches that pcc keeps for projects (caches in its data directory) can be deleted.'
  return 'Make it usable for you: HOME and the data directory must be your own. Nothing is started without the sandbox.'
}

/** What git has said depends on files alone, so all sandboxes of this process share it. */
const readGitSettings = openGitSettings()

function openOnce({ bubblewrap, settings, needs, env, reading, log }: Opening): Sandbox {
  const listed = hostsFor(settings.network, needs, env)
  const scratch = makeScratch(settings.scratch)
  const proxy = settings.network.includes('*') ? undefined : openNetwork(listed, log)
  const gitGuard = guardGit(settings.git, { reading, log })
  let before: BeforeAgent | undefined
  const beginTask = () => {
    before = reading || !settings.git ? undefined : readBefore(settings.git)
    saveBefore(scratch.root, settings, before)
  }
  beginTask()
  const watched: Disposable[] = []
  const home = realHome(env)
  copySettings(home, scratch.home)
  const filter = writeFilter(scratch.root)
  closeInherited()
  const wrap: Sandbox['wrap'] = (starting, { pidNamespace }) => {
    const mounts = mountsFor(starting, { settings, needs, reading, scratch, env, readGitSettings })
    gitGuard.begin(mounts.kept, scratch.root, mounts.closed)
    watched.push(...mounts.copied.filter(({ renewed }) => renewed.length > 0).map(watchCopy))
    if (bubblewrap.kind === 'seatbelt') return wrapInSeatbelt(starting, mounts)
    const network = proxy ? { shows: [proxy.folder], args: ['--unshare-net'] } : { shows: resolverFiles(), args: [] }
    const inner = proxy ? bridgeCommand(proxy.socket, ownPorts(listed), starting) : scopedCommand(commandLine(starting))
    const mounted = mountArgs({ ...mounts, shown: [...mounts.shown, ...network.shows] })
    const args = [
      ...[...NAMESPACES, ...ownIds(), ...(pidNamespace ? ['--unshare-pid'] : []), ...network.args, ...mounted],
      ...['--chdir', starting.cwd, '--', ...comparingCommand(mounted, mounts.hidden, inner)],
    ]
    return {
      ...withLayers(bubblewrapCommand(bubblewrap.program, args, filter), mounts.layers, { scratch: scratch.caches }),
      env: {
        ...environmentInside(starting, mounts),
        ...{ TMPDIR: tempIn(starting), ...cachesBehind(home, starting.env).env, ...(proxy && proxiesAt(PROXY_PORT)) },
      },
    }
  }
  // Other sandboxes share the ports of the machine with this one.
  const seatbeltPort = 40_000 + Math.floor(Math.random() * 20_000)
  const wrapInSeatbelt = (starting: SandboxedCommand, mounts: Mounts): ReturnType<Sandbox['wrap']> => {
    const ports = ownPorts(listed)
    const profile = seatbeltProfile(
      { ...mounts, shown: [...mounts.shown, ...(proxy ? [proxy.folder] : [])] },
      proxy ? { proxyPort: seatbeltPort, socket: proxy.socket, ports } : 'all',
    )
    const inner = proxy ? bridgeCommand(proxy.socket, [], starting, seatbeltPort) : commandLine(starting)
    const variable = needs.folder?.linked || needs.folder?.below ? undefined : needs.folder?.variable
    return {
      // It starts where it is: the one that starts it is in the root folder.
      command: bubblewrap.program,
      args: ['-p', profile, '/bin/sh', '-c', 'cd -- "$0" && exec "$@"', starting.cwd, ...inner],
      env: {
        ...environmentInside(starting, mounts),
        ...{ HOME: linkReplaced(mounts, home), TMPDIR: scratch.tmp, ...(proxy && proxiesAt(seatbeltPort)) },
        ...(variable !== undefined && starting.env[variable] && { [variable]: scratch.agent }),
      },
    }
  }
  const clear = () => {
    if (!reading) removePlanted(settings, { before, log })
  }
  const endTask = () => {
    gitGuard.check()
    clear()
  }
  const close = async () => {
    gitGuard[Symbol.dispose]()
    clear()
    for (const each of watched.splice(0)) each[Symbol.dispose]()
    await proxy?.close()
    await scratch[Symbol.asyncDispose]()
  }
  const identify: Sandbox['identify'] = starting => identifyMounts(starting, { settings, readGitSettings })
  const ofTasks = { folders: new PrivateFolders(scratch, needs.folder), endTask, beginTask }
  const isWall = bubblewrap.kind !== 'seatbelt'
  const kept = keptFolder(needs.folder, { settings, reading, scratch })
  const own = {
    isWall,
    agentFolder: scratch.agent,
    keptFolder: kept,
    breached: gitGuard.breached,
    hasBridge: proxy !== undefined,
  }
  return { wrap, identify, ...own, ...ofTasks, [Symbol.asyncDispose]: close }
}

/** The person's own numbers: whoever puts caches together is root in a namespace of its own. */
function ownIds(): string[] {
  return ['--uid', `${process.getuid?.() ?? 0}`, '--gid', `${process.getgid?.() ?? 0}`]
}

/** Guards the sandbox of an agent that has outlived its daemon. What it has done meanwhile is found now. */
export function adoptSandbox(
  settings: SandboxSettings,
  { reading, log }: Pick<Opening, 'reading' | 'log'>,
): Pick<Sandbox, 'breached' | 'isWall'> & AsyncDisposable {
  const guard = guardGit(settings.git, { reading, log, isAdopted: true })
  if (settings.scratch !== undefined) guard.goOn(settings.scratch)
  const close = async () => {
    guard[Symbol.dispose]()
    if (!reading) removePlanted(settings, { before: readSavedBefore(settings.scratch)[0]?.before, log })
    if (settings.scratch !== undefined) await clearScratch(settings.scratch)
  }
  const isWall = settings.made !== undefined && settings.made.kind !== 'seatbelt'
  return { breached: guard.breached, isWall, [Symbol.asyncDispose]: close }
}

const CLOSES_ON_START = 0o2000000

/**
 * Closes the descriptors that this process itself has inherited from whoever started it: what we start would inherit them too, and with them
 * files and connections of the person. Node marks its own, and low inherited ones, so that no child gets them.
 */
function closeInherited(): void {
  if (process.platform !== 'linux') return // elsewhere nothing lists them
  const own = [0, 1, 2, (process.channel as { fd?: number } | undefined)?.fd]
  for (const fd of readdirSync('/proc/self/fd').map(Number)) {
    if (own.includes(fd)) continue
    try {
      const flags = /^flags:\s*(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8'))?.[1]
      if (flags !== undefined && (Number.parseInt(flags, 8) & CLOSES_ON_START) === 0) closeSync(fd)
    } catch {
      // It was closed meanwhile: the listing itself had one.
    }
  }
}

/** The socket is in the system's own folder, because the path of a socket must be short. */
function openNetwork(listed: string[], log: (line: string) => void) {
  const folder = mkdtempSync(join(tmpdir(), 'pcc-way-'))
  const socket = join(folder, 'proxy.sock')
  const refused = (destination: string) => log(`the sandbox refused the network: ${destination} (agents.network)`)
  const proxy = openProxy({ socket, listed, refused })
  const close = async () => {
    await proxy[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  }
  return { folder, socket, close }
}

function commandLine({ command, args }: SandboxedCommand): string[] {
  return [command, ...args]
}

/** The variables that hold in every sandbox. */
function environmentInside({ env }: SandboxedCommand, { writable }: Mounts): SandboxedCommand['env'] {
  const kept = without(env, [...LEFT_OUT, ...CACHE_VARIABLES])
  return { ...kept, HOME: realHome(env), ...withGitSettings(env), ...dockerHost(env, writable) }
}

function bridgeCommand(
  socket: string,
  ports: number[],
  { command, args }: SandboxedCommand,
  proxyPort: number = PROXY_PORT,
): string[] {
  const options = JSON.stringify({ socket, proxyPort, ports, command, args })
  return [process.execPath, '-e', BRIDGE_SCRIPT, options]
}

function proxiesAt(port: number): Record<string, string> {
  const address = `http://127.0.0.1:${port}`
  return {
    ...Object.fromEntries(['http_proxy', 'https_proxy', 'HTTP_PROXY', 'HTTPS_PROXY'].map(name => [name, address])),
    ...Object.fromEntries(['no_proxy', 'NO_PROXY'].map(name => [name, 'localhost,127.0.0.1,::1'])),
  }
}

/** The file for name resolution may be in a folder that is hidden from every sandbox. */
function resolverFiles(): string[] {
  return existsSync('/etc/resolv.conf') ? [realpathSync('/etc/resolv.conf')] : []
}

/** A folder for temporary files that was made for this command stays; any other is not in the sandbox. */
function tempIn({ env, writes }: SandboxedCommand): string {
  return env['TMPDIR'] !== undefined && writes.includes(env['TMPDIR']) ? env['TMPDIR'] : '/tmp'
}

/** Adds to the settings that the environment has already. */
function withGitSettings(env: Record<string, string | undefined>): Record<string, string> {
  const before = Number(env['GIT_CONFIG_COUNT'] ?? 0)
  const added = Object.entries(GIT_SETTINGS)
  const named = added.flatMap(([key, value], at) => [
    [`GIT_CONFIG_KEY_${before + at}`, key],
    [`GIT_CONFIG_VALUE_${before + at}`, value],
  ])
  return { ...Object.fromEntries(named), GIT_CONFIG_COUNT: `${before + added.length}` }
}

/** A host in the network stays, and so does a socket that the person has made writable. */
function dockerHost(
  { DOCKER_HOST: host }: Record<string, string | undefined>,
  writable: string[],
): Record<string, string> {
  const socket = (host ?? 'unix:///var/run/docker.sock').replace(/^unix:\/\//, '')
  const isThere = !socket.startsWith('/') || (existsSync(socket) && writable.includes(realpathSync(socket)))
  return isThere ? {} : { DOCKER_HOST: NO_DOCKER }
}

function without(env: Record<string, string | undefined>, names: string[]): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !names.includes(name)))
}
