import { execFile } from 'node:child_process'
import { AppError } from '../../base/errors.ts'
import { findProgram } from '../../base/process/find-program.ts'
import type { AgentManifest, SandboxMode, SandboxProgram } from '../../domain/agent-manifest.ts'

/** What a sandbox is made with on this machine, or why there can be none. */
type Bubblewrap = SandboxProgram | { problem: string; install: string }

const INSTALL = 'Install bubblewrap 0.8 or newer (Debian, Ubuntu: apt-get install bubblewrap).'

/**
 * The namespaces that every sandbox has, whatever is in it. Without `--disable-userns` an agent could make a namespace of its own and
 * take the mounts apart that hide things from it.
 */
export const NAMESPACES = [
  ...['--unshare-user', '--disable-userns', '--unshare-ipc', '--unshare-uts'],
  ...['--die-with-parent', '--cap-drop', 'ALL'],
]

/** Finds out by really doing it: kernels, containers and security modules forbid it in too many ways to predict. */
export async function findBubblewrap(env: Record<string, string | undefined> = process.env): Promise<Bubblewrap> {
  if (process.platform !== 'linux')
    return { problem: `there is no sandbox for ${process.platform}`, install: 'Run on Linux, or in a container.' }
  const program = findProgram('bwrap', env)
  if (program === undefined) return { problem: 'bubblewrap is not installed', install: INSTALL }
  const version = /\d[\d.]*/.exec((await run(program, ['--version'])).stdout)?.[0] ?? 'unknown'
  const mounts = ['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc', '--tmpfs', '/tmp']
  const tried = await run(program, [
    ...[...NAMESPACES, '--unshare-pid', '--unshare-net', ...mounts],
    ...['--', '/bin/sh', '-c', ':'],
  ])
  if (tried.problem === undefined) return { program, version }
  const said = tried.stderr.trim().split('\n')[0] || tried.problem
  const isOld = said.includes('Unknown option')
  return {
    problem: `bubblewrap ${version} cannot make a sandbox here (${said.slice(0, 200)})`,
    install: isOld
      ? INSTALL
      : 'Allow unprivileged user namespaces (sysctl user.max_user_namespaces, or your AppArmor profile).',
  }
}

function run(program: string, args: string[]): Promise<{ stdout: string; stderr: string; problem?: string }> {
  return new Promise(resolve => {
    execFile(program, args, { encoding: 'utf8', timeout: 10_000 }, (error, stdout, stderr) =>
      resolve({ stdout, stderr, ...(error && { problem: error.code ? `exit code ${error.code}` : error.message }) }),
    )
  })
}

/**
 * What the sandbox of an agent is made with; nothing where it runs without one. One that is held to every call does: what it runs was
 * judged. `required` refuses every other where there is none.
 */
export async function findNeededSandbox(
  agent: Pick<AgentManifest, 'hold' | 'name'>,
  mode: SandboxMode,
  find: () => Promise<Bubblewrap> = findBubblewrap,
): Promise<SandboxProgram | undefined> {
  if (mode === 'off' || agent.hold === 'every-call') return undefined
  const found = await find()
  if ('program' in found) return found
  if (mode === 'auto') return undefined
  throw new AppError('sandbox_missing', { agent: agent.name, problem: found.problem, install: found.install })
}

/** What of the file system an agent sees: real paths, all of them there. */
export interface Mounts {
  /** Nothing of these is seen. */
  hidden: string[]
  /** Seen, though they lie in something hidden. */
  shown: string[]
  /** May be written. */
  writable: string[]
  /** May not be written, though they lie in something that may. */
  kept: string[]
  /** May be written, though they lie in something that is kept. */
  regained: string[]
}

/**
 * The arguments of bubblewrap for them. Later ones lie over earlier ones: the whole system read-only, what is hidden empty, what is shown
 * back in, what may be written, and last what may not and what of that may again. `/run` holds the sockets of the machine (containers, the desktop, other agents):
 * one that is seen can be spoken to, read-only or not.
 */
export function mountArgs({ hidden, shown, writable, kept, regained }: Mounts): string[] {
  return [
    ...['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc'],
    ...['--tmpfs', '/tmp', '--tmpfs', '/var/tmp', '--tmpfs', '/run'],
    ...byDepth(hidden).flatMap(path => ['--tmpfs', path]),
    ...byDepth(shown).flatMap(path => ['--ro-bind', path, path]),
    ...byDepth(writable).flatMap(path => ['--bind', path, path]),
    ...byDepth([...kept, ...regained]).flatMap(path => [regained.includes(path) ? '--bind' : '--ro-bind', path, path]),
  ]
}

/** Those further out first, or they would lie over the others. */
function byDepth(paths: string[]): string[] {
  return [...new Set(paths)].sort((a, b) => a.split('/').length - b.split('/').length || (a < b ? -1 : 1))
}
