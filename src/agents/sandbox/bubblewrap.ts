import { execFile } from 'node:child_process'
import { findProgram } from '../../base/process/find-program.ts'
import type { SandboxProgram } from '../../domain/agents/sandbox.ts'

/** What a sandbox is made with on this machine, or why there can be none. */
export type Bubblewrap = SandboxProgram | { problem: string; install: string }

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
