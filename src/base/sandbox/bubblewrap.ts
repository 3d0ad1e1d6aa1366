import { existsSync, lstatSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { AppError } from '../errors.ts'
import { isInside } from '../is-inside.ts'
import { findProgram } from '../process/find-program.ts'
import { problemOf, runShort } from '../process/run-short.ts'
import { writeFilter } from './seccomp.ts'
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

/** The descriptor from which a sandbox can read what is mounted outside of it. */
export const OUTSIDE = 8

/**
 * The command of a sandbox. A shell opens descriptors for it: what is mounted here, and the filter of system calls, which bubblewrap itself
 * reads.
 */
export function bubblewrapCommand(program: string, args: string[], filter: string | undefined) {
  // A program that is not there any more is reported as missing, and not as an error of the shell.
  if (!existsSync(program)) return { command: program, args }
  const seccomp = filter === undefined ? [] : ['--seccomp', '9']
  const opening = `exec "$@" ${OUTSIDE}</proc/self/mountinfo${filter === undefined ? '' : ' 9<"$0"'}`
  return { command: '/bin/sh', args: ['-c', opening, filter ?? 'pcc-sandbox', program, ...seccomp, ...args] }
}

/** Tests by really making a sandbox: kernels, containers and security modules forbid it in too many ways to predict. */
export async function findBubblewrap(env: Record<string, string | undefined> = process.env): Promise<Bubblewrap> {
  if (process.platform === 'darwin') return findSeatbelt()
  if (process.platform !== 'linux')
    return { problem: `there is no sandbox for ${process.platform}`, install: 'Run on Linux, or in a container.' }
  const program = findProgram('bwrap', env)
  if (program === undefined) return { problem: 'bubblewrap is not installed', install: INSTALL }
  const mounts = ['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc', '--tmpfs', '/tmp']
  const folder = await mkdtemp(join(tmpdir(), 'pcc-trial-'))
  // In each sandbox awk looks at what is mounted (mount-sources.ts).
  const trying = ['/bin/sh', '-c', 'PATH=/usr/bin:/bin exec awk "BEGIN { exit }"']
  const inside = [...NAMESPACES, '--unshare-pid', '--unshare-net', ...mounts, '--', ...trying]
  const made = bubblewrapCommand(program, inside, writeFilter(folder))
  // Both in one shell: starting a process from here takes longer than all that these two do.
  const trial = await runShort({
    ...{ command: '/bin/sh', args: ['-c', '"$0" --version; exec "$@"', program, made.command, ...made.args] },
    ...{ cwd: '/', env: { PATH: env['PATH'] }, timeoutMs: 10_000, maxBytes: 1_000_000 },
  })
  const version = /\d[\d.]*/.exec(trial.stdout)?.[0] ?? 'unknown'
  await rm(folder, { recursive: true, force: true })
  const problem = problemOf(trial)
  if (problem === undefined) return { program, version }
  const reason = trial.stderr.trim().split('\n')[0] || problem
  const isOld = reason.includes('Unknown option')
  return {
    problem: `bubblewrap ${version} cannot make a sandbox here (${reason.slice(0, 200)})`,
    install: isOld ? INSTALL : isInContainer(env) ? IN_CONTAINER : ALLOW,
  }
}

const ALLOW =
  'Allow unprivileged user namespaces: sysctl user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile for bwrap.'
const IN_CONTAINER =
  'This is a container: start it so that it may make namespaces (docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined), or let the container be the only boundary: agents.sandbox = "off".'

/** Docker and Podman leave a file; Podman and systemd set a variable. */
function isInContainer(env: Record<string, string | undefined>): boolean {
  return env['container'] !== undefined || ['/.dockerenv', '/run/.containerenv'].some(file => existsSync(file))
}

/** The program of macOS that starts another one in a sandbox. */
const SEATBELT = '/usr/bin/sandbox-exec'

async function findSeatbelt(): Promise<Bubblewrap> {
  const args = ['-p', '(version 1) (allow default)', '/usr/bin/true']
  const trial = await runShort({ command: SEATBELT, args, cwd: '/', env: {}, timeoutMs: 10_000, maxBytes: 1_000_000 })
  const problem = problemOf(trial)
  if (problem === undefined) return { program: SEATBELT, version: 'of macOS', kind: 'seatbelt' }
  const install = 'A sandbox cannot be made in another one: start the daemon outside of it.'
  return { problem: `${SEATBELT} cannot make a sandbox here (${trial.stderr.trim() || problem})`, install }
}

/** What makes the sandboxes of this machine, for a person. */
export function describeProgram({ kind, version }: SandboxProgram): string {
  return kind === 'seatbelt' ? 'the sandbox of macOS (untested)' : `bubblewrap ${version}`
}

/** What this process has found out, for a minute: a trial takes some milliseconds, and every session and gate asks. */
const found: { at: number; program: string | undefined; outcome: Promise<Bubblewrap> }[] = []
const KEPT_MS = 60_000
/** The programs that have made a sandbox. */
const worked = new Set<string>()

/**
 * The same as `findBubblewrap`, from memory where a sandbox could be made a moment ago. A failure is looked at again each time. Where one
 * could be made before, a failure is an error: an agent that uses up memory or processes must not bring about that others run without.
 */
export async function lookForBubblewrap(env: Record<string, string | undefined> = process.env): Promise<Bubblewrap> {
  const [last] = found
  // Not by PATH: every git that writes has a folder of its own in it.
  const program = findProgram('bwrap', env)
  if (last && last.program === program && performance.now() - last.at < KEPT_MS) {
    const outcome = await last.outcome
    if ('program' in outcome) return outcome
  }
  const outcome = findBubblewrap(env)
  found.splice(0, 1, { at: performance.now(), program, outcome })
  const now = await outcome
  if ('program' in now) worked.add(now.program)
  else if (program !== undefined && worked.has(program)) throw new AppError('sandbox_failed', { problem: now.problem })
  return now
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

/** What every sandbox has of its own. */
export const COVERED = ['/tmp', '/var/tmp', '/run']

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
  /** Sockets that are visible but belong to others: nobody listens at their paths inside. */
  masked: string[]
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
  /** Folders in what is kept that are seen as a copy, which may be written. */
  copies: MovedFolder[]
}

/**
 * The arguments of bubblewrap for these mounts. Later mounts cover earlier ones: the whole system read-only, hidden paths empty or
 * replaced, shown paths, caches, writable paths, and last the kept and the regained ones. `/run` holds the sockets of the machine
 * (containers, the desktop, other agents): a visible socket can be used, read-only or not.
 */
export function mountArgs(mounts: Mounts): string[] {
  const { tmp, hidden, replaced, shown, masked, shownElsewhere, caches, writable, kept, regained, fixed, copies } =
    mounts
  const replacement = new Map(replaced.map(({ from, to }) => [to, from]))
  const moved = (folders: MovedFolder[], flag: string) =>
    byDepth(folders.map(({ to }) => to)).flatMap(to => [flag, folders.find(each => each.to === to)?.from ?? to, to])
  const covers = [...COVERED, ...hidden, ...replacement.keys()]
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
    ...masked.flatMap(path => ['--ro-bind', '/dev/null', path]),
    ...byDepth([...writable, ...foldersBetween(writable, fixed)]).flatMap(path => bind('--bind', path)),
    ...byDepth([...kept, ...regained]).flatMap(path => bind(regained.includes(path) ? '--bind' : '--ro-bind', path)),
    ...moved(copies, '--bind'),
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
export function foldersBetween(writable: string[], mounted: string[]): string[] {
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

/** Who belongs to which group is asked there on machines that know their users from a directory service. */
const NAME_SERVICE = '/var/lib/sss/pipes/nss'

/**
 * The sockets of this machine's programs that a process with our rights could reach: containers, databases, agents with keys. A socket
 * can be used through a read-only mount too.
 */
export function reachableSockets(): string[] {
  if (process.platform !== 'linux') return [] // only Linux lists them
  const lines = readFileSync('/proc/net/unix', 'utf8').split('\n')
  const named = lines.flatMap(line => /^\S+: (?:\S+ +){6}(\/.*)$/.exec(line)?.[1] ?? [])
  return [...new Set(named.flatMap(path => realSocket(path) ?? []))].filter(path => path !== NAME_SERVICE)
}

/** A socket that is gone when its mount is made would keep the sandbox from starting, and those of services stay for long. */
const SETTLED_MS = 10_000

function realSocket(path: string): string | undefined {
  try {
    const real = realpathSync(path)
    const stats = lstatSync(real)
    const isSettled = stats.isSocket() && Date.now() - stats.mtimeMs > SETTLED_MS
    return isSettled && maySearch(dirname(real)) ? real : undefined
  } catch {
    return undefined // it is gone, or not for us
  }
}

/** Whether somebody without rights of root may pass through all folders of a path: in the sandbox root has none either. */
function maySearch(folder: string): boolean {
  const { uid, gid, mode } = statSync(folder)
  const groups = [process.getgid?.(), ...(process.getgroups?.() ?? [])]
  const bit = uid === process.getuid?.() ? 0o100 : groups.includes(gid) ? 0o010 : 0o001
  return (mode & bit) !== 0 && (folder === dirname(folder) || maySearch(dirname(folder)))
}

const SHARED_BYTES = String(2 ** 31)
const RUN_BYTES = String(2 ** 28)

/** Outer paths first, or they would cover the inner ones. */
function byDepth(paths: string[]): string[] {
  return [...new Set(paths)].sort((a, b) => a.split('/').length - b.split('/').length || (a < b ? -1 : 1))
}
