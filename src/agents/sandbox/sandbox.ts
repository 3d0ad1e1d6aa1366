import { existsSync, lstatSync, realpathSync, rmSync, watch } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SandboxNeeds, SandboxProgram, SandboxSettings } from '../../domain/agent-manifest.ts'
import { mountArgs, NAMESPACES } from './bubblewrap.ts'
import { BRIDGE_SCRIPT, hostsFor, openProxy, ownPorts, PROXY_PORT } from './network.ts'
import { mountsFor, type SandboxedCommand } from './visible-paths.ts'

/** A sandbox for one agent: what it is started with in place of its own command. */
export interface Sandbox extends AsyncDisposable {
  /** Aborted when the agent has found a way to do something outside: it is to be ended. */
  readonly breached: AbortSignal
  wrap(starting: SandboxedCommand, own: { pidNamespace: boolean }): Pick<SandboxedCommand, 'command' | 'args' | 'env'>
}

interface Opening {
  bubblewrap: SandboxProgram
  asked: SandboxSettings
  needs: SandboxNeeds
  env: Record<string, string | undefined>
  /** It only reads: of the project nothing may be written. */
  reading: boolean
  log(line: string): void
}

/** Sockets of the machine by which much can be asked; nothing of them is in the sandbox. */
const LEFT_OUT = [
  'SSH_AUTH_SOCK',
  'SSH_AGENT_PID',
  'DBUS_SESSION_BUS_ADDRESS',
  'XDG_RUNTIME_DIR',
  'DISPLAY',
  'WAYLAND_DISPLAY',
]

/** Opens the way out for the hosts that are listed; without a list the network is what it is. */
export async function openSandbox({ bubblewrap, asked, needs, env, reading, log }: Opening): Promise<Sandbox> {
  const listed = hostsFor(asked.network, needs, env)
  const way = asked.network.includes('*') ? undefined : await openNetwork(listed, log)
  const guarded: GitGuard = guardGit(asked.git, { reading })
  const stateHome = (needs.movedBy && env[needs.movedBy]) || undefined
  const wrap: Sandbox['wrap'] = (starting, { pidNamespace }) => {
    const mounts = mountsFor(starting, { asked, needs, reading, stateHome })
    const network = way ? { shows: [way.folder], args: ['--unshare-net'] } : { shows: resolverFiles(), args: [] }
    const inner = way ? bridged(way.socket, ownPorts(listed), starting) : [starting.command, ...starting.args]
    return {
      command: bubblewrap.program,
      args: [
        ...[...NAMESPACES, ...(pidNamespace ? ['--unshare-pid'] : []), ...network.args],
        ...mountArgs({ ...mounts, shown: [...mounts.shown, ...network.shows] }),
        ...['--chdir', starting.cwd, '--', ...inner],
      ],
      env: { ...without(starting.env), TMPDIR: '/tmp', ...(way && PROXIES) },
    }
  }
  const close = async () => {
    guarded[Symbol.dispose]()
    await way?.close()
  }
  return { wrap, breached: guarded.breached, [Symbol.asyncDispose]: close }
}

async function openNetwork(listed: string[], log: (line: string) => void) {
  const folder = await mkdtemp(join(tmpdir(), 'pcc-way-'))
  const socket = join(folder, 'proxy.sock')
  const refused = (destination: string) => log(`the sandbox refused the network: ${destination} (agents.network)`)
  const proxy = await openProxy({ socket, listed, refused })
  const close = async () => {
    await proxy[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  }
  return { folder, socket, close }
}

function bridged(socket: string, ports: number[], { command, args }: SandboxedCommand): string[] {
  const told = JSON.stringify({ socket, proxyPort: PROXY_PORT, ports, command, args })
  return [process.execPath, '-e', BRIDGE_SCRIPT, told]
}

const PROXY = `http://127.0.0.1:${PROXY_PORT}`
const PROXIES = {
  ...Object.fromEntries(['http_proxy', 'https_proxy', 'HTTP_PROXY', 'HTTPS_PROXY'].map(name => [name, PROXY])),
  ...Object.fromEntries(['no_proxy', 'NO_PROXY'].map(name => [name, 'localhost,127.0.0.1,::1'])),
}

/** Names are resolved by a file that may lie in what is hidden from every sandbox. */
function resolverFiles(): string[] {
  return existsSync('/etc/resolv.conf') ? [realpathSync('/etc/resolv.conf')] : []
}

function without(env: Record<string, string | undefined>): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !LEFT_OUT.includes(name)))
}

/** By this file git reads the settings of a repository, and with them what it starts, from somewhere else. */
const COMMONDIR = 'commondir'

interface GitGuard extends Disposable {
  /** Aborted, with what was found, when the agent has put it there. */
  readonly breached: AbortSignal
}

/**
 * In a main checkout git writes beside its settings, so that the folder itself cannot be closed; and an empty `commondir`, which could be
 * held where it is, would stop every git outside. So it is looked for as long as the agent runs, and once more when all of it is gone: what
 * is found is taken away.
 */
function guardGit(git: SandboxSettings['git'], { reading }: { reading: boolean }): GitGuard {
  const breach = new AbortController()
  const file = git && !reading && git.own === git.common ? join(git.common, COMMONDIR) : undefined
  if (file === undefined || !git || isThere(file)) return { breached: breach.signal, [Symbol.dispose]: () => undefined }
  const look = () => {
    if (!isThere(file)) return
    rmSync(file, { recursive: true, force: true })
    breach.abort(new Error(`it has put a ${COMMONDIR} into ${git.common}, by which git outside would run what it says`))
  }
  const watcher = watch(git.common, { persistent: false }, (_, name) => {
    if (name === COMMONDIR || name === null) look()
  })
  // A folder that can be watched no more is looked at at the end.
  watcher.on('error', () => undefined)
  look()
  return {
    breached: breach.signal,
    [Symbol.dispose]: () => {
      watcher.close()
      look()
    },
  }
}

function isThere(file: string): boolean {
  return lstatSync(file, { throwIfNoEntry: false }) !== undefined
}
