import { existsSync, lstatSync, mkdtempSync, realpathSync, rmSync, watch } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mountArgs, NAMESPACES } from './bubblewrap.ts'
import { CACHE_VARIABLES, cachesBehind, copySettings, makeScratch } from './home.ts'
import { BRIDGE_SCRIPT, hostsFor, openProxy, ownPorts, PROXY_PORT } from './network.ts'
import type { SandboxNeeds, SandboxProgram, SandboxSettings } from './settings.ts'
import { mountsFor, realHome, type SandboxedCommand } from './visible-paths.ts'

/** A sandbox for one agent or one command of a project: it wraps the command. */
export interface Sandbox extends AsyncDisposable {
  /** Aborts when the agent has found a way to do something outside: it must be ended. */
  readonly breached: AbortSignal
  /** The agent's own folder, as it is outside. */
  readonly agentFolder: string
  wrap(starting: SandboxedCommand, own: { pidNamespace: boolean }): Pick<SandboxedCommand, 'command' | 'args' | 'env'>
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

/** Opens a sandbox with a proxy for the listed hosts; `*` leaves the network as it is. */
export function openSandbox({ bubblewrap, settings, needs, env, reading, log }: Opening): Sandbox {
  const listed = hostsFor(settings.network, needs, env)
  const scratch = makeScratch(settings.scratch)
  const proxy = settings.network.includes('*') ? undefined : openNetwork(listed, log)
  const gitGuard = guardGit(settings.git, { reading })
  // The command itself may get another one, which is ours.
  const movedHome = needs.movedBy && env[needs.movedBy]
  const home = realHome(env)
  copySettings(home, scratch.home)
  const wrap: Sandbox['wrap'] = (starting, { pidNamespace }) => {
    const mounts = mountsFor(starting, { settings, needs, reading, scratch, movedHome })
    const network = proxy ? { shows: [proxy.folder], args: ['--unshare-net'] } : { shows: resolverFiles(), args: [] }
    const inner = proxy ? bridgeCommand(proxy.socket, ownPorts(listed), starting) : [starting.command, ...starting.args]
    return {
      command: bubblewrap.program,
      args: [
        ...[...NAMESPACES, ...(pidNamespace ? ['--unshare-pid'] : []), ...network.args],
        ...mountArgs({ ...mounts, shown: [...mounts.shown, ...network.shows] }),
        ...['--chdir', starting.cwd, '--', ...inner],
      ],
      env: {
        ...without(starting.env, [...LEFT_OUT, ...CACHE_VARIABLES]),
        ...{
          HOME: realHome(starting.env),
          TMPDIR: tempIn(starting),
          ...cachesBehind(home, starting.env).env,
          ...(proxy && PROXIES),
        },
        ...{ ...withGitSettings(starting.env), ...dockerHost(starting.env, mounts.writable) },
      },
    }
  }
  const close = async () => {
    gitGuard[Symbol.dispose]()
    await proxy?.close()
    await scratch[Symbol.asyncDispose]()
  }
  return { wrap, agentFolder: scratch.agent, breached: gitGuard.breached, [Symbol.asyncDispose]: close }
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

function bridgeCommand(socket: string, ports: number[], { command, args }: SandboxedCommand): string[] {
  const options = JSON.stringify({ socket, proxyPort: PROXY_PORT, ports, command, args })
  return [process.execPath, '-e', BRIDGE_SCRIPT, options]
}

const PROXY = `http://127.0.0.1:${PROXY_PORT}`
const PROXIES = {
  ...Object.fromEntries(['http_proxy', 'https_proxy', 'HTTP_PROXY', 'HTTPS_PROXY'].map(name => [name, PROXY])),
  ...Object.fromEntries(['no_proxy', 'NO_PROXY'].map(name => [name, 'localhost,127.0.0.1,::1'])),
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

/** This file makes git read the settings of a repository, and with them programs to start, from somewhere else. */
const COMMONDIR = 'commondir'

interface GitGuard extends Disposable {
  /** Aborts, with the reason, when the agent has created the file. */
  readonly breached: AbortSignal
}

/**
 * Removes a `commondir` that the agent creates. In a main checkout git writes beside its settings, so the folder itself cannot be made
 * read-only; and an empty `commondir`, which could be mounted read-only, would break every git outside. So the folder is watched while the
 * agent runs, and checked once more when the agent and its processes are gone.
 */
function guardGit(git: SandboxSettings['git'], { reading }: { reading: boolean }): GitGuard {
  const breach = new AbortController()
  const file = git && !reading && git.own === git.common ? join(git.common, COMMONDIR) : undefined
  if (file === undefined || !git || exists(file)) return { breached: breach.signal, [Symbol.dispose]: () => undefined }
  const check = () => {
    if (!exists(file)) return
    rmSync(file, { recursive: true, force: true })
    breach.abort(new Error(`it has put a ${COMMONDIR} into ${git.common}, by which git outside would run what it says`))
  }
  const watcher = watch(git.common, { persistent: false }, (_, name) => {
    if (name === COMMONDIR || name === null) check()
  })
  // A folder that cannot be watched any more is still checked at the end.
  watcher.on('error', () => undefined)
  check()
  return {
    breached: breach.signal,
    [Symbol.dispose]: () => {
      watcher.close()
      check()
    },
  }
}

function exists(file: string): boolean {
  return lstatSync(file, { throwIfNoEntry: false }) !== undefined
}
