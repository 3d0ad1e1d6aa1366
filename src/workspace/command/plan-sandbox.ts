import { createHash } from 'node:crypto'
import { existsSync, type Stats } from 'node:fs'
import { lstat, mkdir, readFile, realpath, stat, statfs } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { type AppPaths, hookLauncher, ownFolders } from '../../base/app-paths.ts'
import { AppError } from '../../base/errors.ts'
import { isInside } from '../../base/is-inside.ts'
import { type Bubblewrap, findNeededSandbox, lookForBubblewrap } from '../../base/sandbox/bubblewrap.ts'
import { makeScratch, type Scratch } from '../../base/sandbox/home.ts'
import { passesLinkOfCheckout } from '../../base/sandbox/mount-sources.ts'
import { openSandbox, type Sandbox } from '../../base/sandbox/sandbox.ts'
import { NO_NEEDS, type SandboxSettings } from '../../base/sandbox/settings.ts'
import { checkProject, packagesOfPcc } from '../../base/sandbox/visible-paths.ts'
import { pathOutsideProjects } from '../../base/search-path.ts'
import type { Config } from '../../domain/config/settings.ts'
import { git } from '../git/git.ts'
import { findGitFolder, isEmptyFolder } from '../git/git-folder.ts'

export interface SandboxPlan {
  /** Undefined where there is no sandbox. */
  settings: SandboxSettings | undefined
  /** Why there is none although the settings want one, and what to do about it. */
  missing?: Extract<Bubblewrap, { problem: string }> | undefined
  /** The kind of the network file system that the project is on, if it is on one. */
  remote?: string | undefined
  /** The project or the home, if it is another user's and closed to others: nobody has the rights of root inside. */
  foreign?: string | undefined
}

export interface SandboxSubject {
  /** Who runs in it, for a message. */
  name: string
  /** An agent whose calls are not all judged is refused where its sandbox cannot be made as wanted. */
  asksEveryCall: boolean
  project: string
  /** The worktree in which it works, if that is not the project. */
  worktree?: string | undefined
  home: string
  /** The daemon's own folders: the sandbox hides all of them. */
  paths: AppPaths
}

/**
 * Plans a sandbox by the settings. The shared git directory is found from the project, because the agent may have written what
 * the worktree says about it. Throws where a sandbox is required and there is none.
 */
export async function planSandbox(
  { agents, worktrees }: Pick<Config, 'agents' | 'worktrees'>,
  subject: SandboxSubject,
): Promise<SandboxPlan> {
  const { name, asksEveryCall, project, worktree, home, paths } = subject
  const { sandbox: mode, network, sandbox_read: read, sandbox_write: write } = agents
  const PATH = pathOutsideProjects(process.env['PATH'], worktree === undefined ? [project] : [project, worktree])
  const made = await findNeededSandbox(name, mode, () => lookForBubblewrap({ PATH }))
  if (!made) return { settings: undefined }
  if ('problem' in made) return { settings: undefined, missing: made }
  // An agent of the checkout around it may have put the link in its place: it could lead to what must stay hidden, and then there would be no sandbox.
  if (passesLinkOfCheckout(project)) throw new AppError('sandbox_link', { path: project })
  const kept = [...packagesOfPcc(worktree ?? project), ...(await worktreesIn(project, worktree, worktrees.directory))]
  const ofProject = createHash('sha256').update(project).digest('hex').slice(0, 16)
  const settings: SandboxSettings = {
    // Tried only once: who was admitted because of the sandbox is never started without it.
    ...{ mode: 'required', made },
    network: networkInside(network, asksEveryCall),
    // A worktree's dependencies may be links into the project. The agent's own settings may name the launcher of hooks, which says
    // nothing in a sandbox; without it some agents refuse every call.
    read: [
      ...read,
      ...[hookLauncher(paths)].filter(file => existsSync(file)),
      ...(worktree === undefined ? [] : [project]),
    ],
    write,
    ...(kept.length > 0 && { kept }),
    hidden: [...new Set([...ownFolders(paths), dirname(paths.socket)])],
    git: await findSharedGit(project, worktree),
    ...(worktree !== undefined && { branches: 'pcc' }),
    scratch: scratchFolder(paths),
    conversations: join(paths.data, 'conversations', ofProject),
    caches: { folder: join(paths.data, 'caches', ofProject) },
  }
  const exposed = asksEveryCall && mode === 'auto' ? findExposed(project, settings, home) : undefined
  if (exposed) return { settings: undefined, missing: exposed }
  const remote = networkFileSystem(await statfs(worktree ?? project).catch(() => undefined))
  const foreign = await findForeign([worktree ?? project, home])
  return { settings, ...(remote !== undefined && { remote }), ...(foreign !== undefined && { foreign }) }
}

/**
 * The folder of worktrees, where it is in the project: there are also pcc's own notes about them. It is made here, because what does not exist
 * cannot be read-only.
 */
async function worktreesIn(
  project: string,
  worktree: string | undefined,
  folder: string | undefined,
): Promise<string[]> {
  if (worktree !== undefined || folder === undefined || !isInside(folder, project) || folder === project) return []
  // A link in its place is refused when the sandbox is made.
  await mkdir(folder, { recursive: true, mode: 0o700 }).catch(() => undefined)
  return [folder]
}

function isOfPcc(folder: string): boolean {
  return basename(folder) === 'node_modules'
}

/** The first folder that somebody without rights of root may not write. */
async function findForeign(folders: readonly string[]): Promise<string | undefined> {
  const groups = [process.getgid?.(), ...(process.getgroups?.() ?? [])]
  for (const folder of folders) {
    const stats = await stat(folder).catch(() => undefined)
    if (!stats || stats.uid === process.getuid?.()) continue
    if ((stats.mode & (groups.includes(stats.gid) ? 0o020 : 0o002)) === 0) return folder
  }
  return undefined
}

/** The network of an agent, or of a command. Where every call is judged it is the machine's, because people's own servers and databases must work. */
export function networkInside(listed: readonly string[], asksEveryCall: boolean): string[] {
  return asksEveryCall && listed.length === 0 ? ['*'] : [...listed]
}

/** Which network that is, for a person. */
export function describeNetwork(listed: readonly string[], asksEveryCall: boolean): string {
  if (networkInside(listed, asksEveryCall).includes('*'))
    return "the machine's own (cloud metadata addresses are refused by name)"
  const more = listed.length === 0 ? '' : ` and of ${listed.join(', ')} (agents.network)`
  return `none but that of the agent's vendor${more}`
}

/** File systems that other machines write too, by the numbers that Linux gives them. */
const NETWORK_FILE_SYSTEMS = new Map<number, string>([
  ...[0x517b, 0xff534d42, 0xfe534d42].map((type): [number, string] => [type, 'SMB']),
  [0x6969, 'NFS'],
  [0x00c36400, 'Ceph'],
  [0x5346414f, 'AFS'],
])

/** The name of a network file system; undefined for any other. */
export function networkFileSystem(stats: { type: number } | undefined): string | undefined {
  return stats && NETWORK_FILE_SYSTEMS.get(stats.type >>> 0)
}

/** What a person has to know about a sandbox before something runs in it or without it, each with what helps. */
export function sandboxProblems({ settings, missing, remote, foreign }: SandboxPlan): { says: string; fix: string }[] {
  if (missing) return [{ says: `${UNBOUNDED} (${missing.problem})`, fix: missing.install }]
  return [
    ...(remote === undefined
      ? []
      : [
          {
            says: `The project is on a network file system (${remote}): the sandbox bounds what runs on this machine, not what others write there`,
            fix: 'Keep it on a disk of this machine if you do not trust them.',
          },
        ]),
    ...(foreign === undefined
      ? []
      : [
          {
            says: `${foreign} belongs to another user, and nobody has the rights of root in the sandbox: the agent cannot write there`,
            fix: 'Run pcc as that user, or give the folder to yourself with chown.',
          },
        ]),
    ...(settings?.kept ?? []).filter(isOfPcc).map(folder => ({
      says: `pcc itself runs from ${folder}, so the sandbox has it read-only: no package can be installed there`,
      fix: 'Install pcc for yourself: npm install -g perpetualcc',
    })),
  ]
}

/** Code that an agent writes and runs is bounded by nothing else. */
export const UNBOUNDED = 'There is no sandbox: what the agent writes and runs can do all that you can'

/** The same, for the notes of a session. */
export function sandboxNotes(plan: SandboxPlan): string[] {
  return sandboxProblems(plan).map(({ says, fix }) => `${says}. ${fix}`)
}

/** Where sandboxes keep their home and /tmp while they exist. */
export function scratchFolder({ run }: Pick<AppPaths, 'run'>): string {
  return join(run, 'boxes')
}

function findExposed(project: string, settings: SandboxSettings, home: string): SandboxPlan['missing'] {
  try {
    checkProject(project, settings, home)
    return undefined
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'sandbox_project') throw error
    return { problem: error.message, install: error.next ?? '' }
  }
}

async function findSharedGit(project: string, worktree: string | undefined): Promise<SandboxSettings['git']> {
  const projectFolder = await findOwnGit(project)
  if (!projectFolder || worktree === undefined) return projectFolder
  const worktreeFolder = await findGitFolder(worktree)
  // A worktree that claims to belong elsewhere, or to be another one, was tampered with: it may write nothing of the repository.
  if (!worktreeFolder?.own.startsWith(`${projectFolder.common}/worktrees/`)) return undefined
  if (!(await isKnownTo(worktreeFolder.own, join(worktreeFolder.top, '.git')))) return undefined
  return { top: worktreeFolder.top, own: worktreeFolder.own, common: projectFolder.common }
}

/**
 * The repository of a project. An earlier agent may have written what a `.git` says: one that is there must be a folder with a repository,
 * or a file that its repository points back to. A project without one has no repository, whatever else looks like one.
 */
async function findOwnGit(project: string): Promise<SandboxSettings['git']> {
  const entry = await findGitEntry(project)
  if (entry === undefined) return undefined
  const refuse = (problem: string) => new AppError('sandbox_git', { path: entry.path, problem })
  if (entry.stats.isSymbolicLink()) throw refuse('it is a link')
  const folder = await findGitFolder(project)
  if (folder?.top !== dirname(entry.path)) throw refuse('git does not find a repository there')
  if (entry.stats.isDirectory()) {
    if (folder.own !== (await realpath(entry.path)) || folder.common !== folder.own) throw refuse('it leads elsewhere')
    return folder
  }
  const pointsBack = (await isKnownTo(folder.own, entry.path)) || (await namesCheckout(folder))
  const isSubmodule = folder.own === folder.common && isInsideModules(folder.own, folder.top)
  if (!pointsBack && !isSubmodule) throw refuse('the repository that it names does not know it')
  return folder
}

/** Whether a repository names this file as that of its worktree. */
async function isKnownTo(own: string, file: string): Promise<boolean> {
  const known = (await readFile(join(own, 'gitdir'), 'utf8').catch(() => '')).trim()
  return known === file || known === join(await realpath(dirname(file)), basename(file))
}

/** Whether the settings of a repository that is kept elsewhere name this folder as its checkout: an agent in the folder cannot write them. */
async function namesCheckout({ own, common, top }: NonNullable<SandboxSettings['git']>): Promise<boolean> {
  if (own !== common || isInside(own, top)) return false
  const { stdout } = await git(own, ['config', '--file', join(own, 'config'), '--get', 'core.worktree'])
  const named = stdout.trim()
  return named !== '' && (await realpath(resolve(own, named)).catch(() => '')) === top
}

/** The nearest `.git` of a folder or of one above it. */
async function findGitEntry(project: string): Promise<{ path: string; stats: Stats } | undefined> {
  for (let folder = project; ; folder = dirname(folder)) {
    const path = join(folder, '.git')
    const stats = await lstat(path).catch(() => undefined)
    if (stats && !(stats.isDirectory() && isEmptyFolder(path))) return { path, stats }
    if (folder === dirname(folder)) return undefined
  }
}

/** The repository of a submodule is in that of the repository around it. */
function isInsideModules(own: string, top: string): boolean {
  const at = own.indexOf('/.git/modules/')
  return at > 0 && top !== own.slice(0, at) && isInside(top, own.slice(0, at))
}

/** Opens the sandbox for one command; undefined where there is none. */
export type OpenCommandSandbox = (run: {
  directory: string
  env: Record<string, string | undefined>
  /** Further folders that it reads. */
  reads?: readonly string[] | undefined
}) => Promise<Sandbox | undefined>

export interface CommandSandboxes {
  project: string
  paths: AppPaths
  log(line: string): void
  /** Set-up commands of fresh worktrees, which run before an agent has worked there: only they fill the project's package caches. */
  fillsCaches?: boolean | undefined
}

/**
 * The sandboxes of the commands of a project: gates and set-up commands run the same code as the agent that wrote it. Commands that
 * run in the same folder find one another's changes in the package caches, until this is disposed of.
 */
export function commandSandboxes(
  config: Pick<Config, 'agents' | 'worktrees'>,
  { project, paths, log, fillsCaches = false }: CommandSandboxes,
): OpenCommandSandbox & AsyncDisposable {
  const changed = new Map<string, Scratch>()
  const changesIn = (directory: string, parent: string | undefined) => {
    const scratch = changed.get(directory) ?? makeScratch(parent)
    changed.set(directory, scratch)
    return scratch.caches
  }
  const open: OpenCommandSandbox = async ({ directory, env, reads = [] }) => {
    const plan = await planSandbox(config, {
      ...{ name: 'A command of the project', asksEveryCall: true, project, paths },
      ...{ worktree: directory === project ? undefined : directory, home: env['HOME'] ?? '/' },
    })
    const { settings } = plan
    if (!settings?.made) return undefined
    const caches = settings.caches && {
      ...settings.caches,
      ...(fillsCaches ? { isWritten: true } : { changes: changesIn(directory, settings.scratch) }),
    }
    const all = { ...settings, caches, read: [...settings.read, ...reads] }
    return openSandbox({ bubblewrap: settings.made, settings: all, needs: NO_NEEDS, env, reading: false, log })
  }
  const close = async () => {
    for (const scratch of changed.values()) await scratch[Symbol.asyncDispose]()
  }
  return Object.assign(open, { [Symbol.asyncDispose]: close })
}
