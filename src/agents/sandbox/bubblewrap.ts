import { AppError } from '../../base/errors.ts'
import { findProgram } from '../../base/process/find-program.ts'
import { problemOf, runShort } from '../../base/process/run-short.ts'
import type { AgentManifest, SandboxMode, SandboxProgram } from '../../domain/agent-manifest.ts'

/** The program that makes sandboxes on this machine, or why there is none. */
type Bubblewrap = SandboxProgram | { problem: string; install: string }

const INSTALL = 'Install bubblewrap 0.8 or newer (Debian, Ubuntu: apt-get install bubblewrap).'

/**
 * The namespaces of every sandbox. Without `--disable-userns` an agent could create a namespace of its own and remove the mounts that
 * hide things from it.
 */
export const NAMESPACES = [
  ...['--unshare-user', '--disable-userns', '--unshare-ipc', '--unshare-uts'],
  ...['--die-with-parent', '--cap-drop', 'ALL'],
]

/** Tests by really making a sandbox: kernels, containers and security modules forbid it in too many ways to predict. */
export async function findBubblewrap(env: Record<string, string | undefined> = process.env): Promise<Bubblewrap> {
  if (process.platform !== 'linux')
    return { problem: `there is no sandbox for ${process.platform}`, install: 'Run on Linux, or in a container.' }
  const program = findProgram('bwrap', env)
  if (program === undefined) return { problem: 'bubblewrap is not installed', install: INSTALL }
  const run = (args: string[]) =>
    runShort({ command: program, args, cwd: '/', env: { PATH: env['PATH'] }, timeoutMs: 10_000, maxBytes: 1_000_000 })
  const version = /\d[\d.]*/.exec((await run(['--version'])).stdout)?.[0] ?? 'unknown'
  const mounts = ['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc', '--tmpfs', '/tmp']
  const trial = await run([
    ...[...NAMESPACES, '--unshare-pid', '--unshare-net', ...mounts],
    ...['--', '/bin/sh', '-c', ':'],
  ])
  const problem = problemOf(trial)
  if (problem === undefined) return { program, version }
  const reason = trial.stderr.trim().split('\n')[0] || problem
  const isOld = reason.includes('Unknown option')
  return {
    problem: `bubblewrap ${version} cannot make a sandbox here (${reason.slice(0, 200)})`,
    install: isOld
      ? INSTALL
      : 'Allow unprivileged user namespaces (sysctl user.max_user_namespaces, or your AppArmor profile).',
  }
}

/**
 * The program for the sandbox of an agent; undefined if the agent runs without one. An agent whose every call is judged needs none. With
 * `required`, any other agent is refused if there is no sandbox.
 */
export async function findNeededSandbox(
  agent: Pick<AgentManifest, 'hold' | 'name'>,
  mode: SandboxMode,
  find: () => Promise<Bubblewrap> = findBubblewrap,
): Promise<SandboxProgram | undefined> {
  if (mode === 'off' || agent.hold === 'every-call') return undefined
  const bubblewrap = await find()
  if ('program' in bubblewrap) return bubblewrap
  if (mode === 'auto') return undefined
  throw new AppError('sandbox_missing', {
    agent: agent.name,
    problem: bubblewrap.problem,
    install: bubblewrap.install,
  })
}

/** What an agent sees of the file system: real paths that all exist. */
export interface Mounts {
  /** Invisible. */
  hidden: string[]
  /** Visible although they are inside something hidden. */
  shown: string[]
  /** Writable. */
  writable: string[]
  /** Read-only although they are inside something writable. */
  kept: string[]
  /** Writable although they are inside something that is kept. */
  regained: string[]
}

/**
 * The arguments of bubblewrap for these mounts. Later mounts cover earlier ones: the whole system read-only, hidden paths empty, shown
 * paths, writable paths, and last the kept and the regained ones. `/run` holds the sockets of the machine (containers, the desktop, other
 * agents): a visible socket can be used, read-only or not.
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

/** Outer paths first, or they would cover the inner ones. */
function byDepth(paths: string[]): string[] {
  return [...new Set(paths)].sort((a, b) => a.split('/').length - b.split('/').length || (a < b ? -1 : 1))
}
