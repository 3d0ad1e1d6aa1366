import { lstatSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { AppError } from '../errors.ts'
import { isInside } from '../is-inside.ts'
import { findProgram } from '../process/find-program.ts'
import { problemOf, runShort } from '../process/run-short.ts'
import type { SandboxMode, SandboxProgram } from './settings.ts'

/** The program that makes sandboxes on this machine, or why there is none. */
export type Bubblewrap = SandboxProgram | { problem: string; install: string }

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

/** What this process has found out, for a minute: a trial takes some milliseconds, and every session and gate asks. */
const found: { at: number; path: string | undefined; outcome: Promise<Bubblewrap> }[] = []
const KEPT_MS = 60_000

/** The same as `findBubblewrap`, from memory where a sandbox could be made a moment ago. A failure is looked at again each time. */
export async function lookForBubblewrap(env: Record<string, string | undefined> = process.env): Promise<Bubblewrap> {
  const [last] = found
  if (last && last.path === env['PATH'] && performance.now() - last.at < KEPT_MS) {
    const outcome = await last.outcome
    if ('program' in outcome) return outcome
  }
  const outcome = findBubblewrap(env)
  found.splice(0, 1, { at: performance.now(), path: env['PATH'], outcome })
  return outcome
}

/** The program for a sandbox, or why there is none; undefined if none is wanted. With `required`, its absence is an error. */
export async function findNeededSandbox(
  name: string,
  mode: SandboxMode,
  find: () => Promise<Bubblewrap> = lookForBubblewrap,
): Promise<Bubblewrap | undefined> {
  if (mode === 'off') return undefined
  const bubblewrap = await find()
  if ('program' in bubblewrap || mode === 'auto') return bubblewrap
  throw new AppError('sandbox_missing', { agent: name, problem: bubblewrap.problem, install: bubblewrap.install })
}

/** A folder of ours that is seen at another path. */
export interface MovedFolder {
  from: string
  to: string
}

/** What a command sees of the file system. All paths exist. */
export interface Mounts {
  /** Its own /tmp. */
  tmp: string
  /** Invisible. */
  hidden: string[]
  /** Folders that replace something hidden: an empty home. Writable. */
  replaced: MovedFolder[]
  /** Visible although they are inside something hidden. */
  shown: string[]
  /** What is visible at another path than its own, read-only. */
  shownElsewhere: MovedFolder[]
  /** Package caches. Writable. */
  caches: MovedFolder[]
  /** Writable. */
  writable: string[]
  /** Read-only although they are inside something writable. */
  kept: string[]
  /** Writable although they are inside something that is kept. */
  regained: string[]
  /** Those of the mounts in the project and its repository whose folders must stay where they are. */
  fixed: string[]
}

/**
 * The arguments of bubblewrap for these mounts. Later mounts cover earlier ones: the whole system read-only, hidden paths empty or
 * replaced, shown paths, caches, writable paths, and last the kept and the regained ones. `/run` holds the sockets of the machine
 * (containers, the desktop, other agents): a visible socket can be used, read-only or not.
 */
export function mountArgs(mounts: Mounts): string[] {
  const { tmp, hidden, replaced, shown, shownElsewhere, caches, writable, kept, regained, fixed } = mounts
  const replacement = new Map(replaced.map(({ from, to }) => [to, from]))
  const moved = (folders: MovedFolder[], flag: string) =>
    byDepth(folders.map(({ to }) => to)).flatMap(to => [flag, folders.find(each => each.to === to)?.from ?? to, to])
  const covers = ['/tmp', '/var/tmp', '/run', ...hidden, ...replacement.keys()]
  const bind = (flag: string, path: string) => [flag, path, pathInside(path, covers, [...shown, ...writable])]
  const isInCache = (path: string) => caches.some(({ to }) => isInside(path, to))
  return [
    ...['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc'],
    // Without capabilities root may still write the kernel's own settings, and with them what the kernel runs.
    ...['--ro-bind', '/proc/sys', '/proc/sys'],
    // These are in memory.
    ...['--size', SHARED_BYTES, '--tmpfs', '/dev/shm', '--size', SHARED_BYTES, '--tmpfs', '/var/tmp'],
    ...['--bind', tmp, '/tmp', '--size', RUN_BYTES, '--tmpfs', '/run'],
    ...byDepth([...hidden, ...replacement.keys(), ...shown]).flatMap(path => {
      const from = replacement.get(path)
      if (from !== undefined) return ['--bind', from, path]
      return shown.includes(path) ? bind('--ro-bind', path) : ['--tmpfs', path]
    }),
    ...moved(shownElsewhere, '--ro-bind'),
    ...moved(caches, '--bind'),
    // Programs may be among cached files: Poetry keeps its virtual environments there.
    ...byDepth(shown.filter(isInCache)).flatMap(path => bind('--ro-bind', path)),
    ...byDepth([...writable, ...foldersBetween(writable, fixed)]).flatMap(path => bind('--bind', path)),
    ...byDepth([...kept, ...regained]).flatMap(path => bind(regained.includes(path) ? '--bind' : '--ro-bind', path)),
  ]
}

/**
 * The path at which something is mounted. Bubblewrap does not follow a link that is in the sandbox, so the mount is made where the link
 * leads. A link in a folder that is covered is not there, unless a mount shows the folder again.
 */
function pathInside(path: string, covers: string[], mounted: string[]): string {
  let at = '/'
  for (const name of path.split('/').filter(Boolean)) {
    const next = join(at, name)
    at = lstatSync(next, { throwIfNoEntry: false })?.isSymbolicLink() && isVisible(next) ? realpathSync(next) : next
  }
  return at

  function isVisible(link: string): boolean {
    const deepest = (folders: string[]) =>
      Math.max(0, ...folders.filter(folder => folder !== link && isInside(link, folder)).map(({ length }) => length))
    const cover = deepest(covers)
    return cover === 0 || deepest(mounted) >= cover
  }
}

/**
 * The folders between a writable one and a mount inside it. Mounted to themselves they cannot be renamed: otherwise somebody inside could
 * put a link in the place of such a folder, and the next sandbox would mount what it leads to.
 */
function foldersBetween(writable: string[], mounted: string[]): string[] {
  return mounted.flatMap(path => {
    const roots = writable.filter(root => root !== path && isInside(path, root))
    const folders: string[] = []
    for (
      let folder = dirname(path);
      roots.some(root => root !== folder && isInside(folder, root));
      folder = dirname(folder)
    )
      if (!mounted.includes(folder)) folders.push(folder)
    return folders
  })
}

const SHARED_BYTES = String(2 ** 31)
const RUN_BYTES = String(2 ** 28)

/** Outer paths first, or they would cover the inner ones. */
function byDepth(paths: string[]): string[] {
  return [...new Set(paths)].sort((a, b) => a.split('/').length - b.split('/').length || (a < b ? -1 : 1))
}
