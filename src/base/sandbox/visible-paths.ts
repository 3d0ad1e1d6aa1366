import {
  closeSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  realpathSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { AppError } from '../errors.ts'
import { isInside } from '../is-inside.ts'
import { findProgram } from '../process/find-program.ts'
import { packagePath } from '../program.ts'
import { COVERED, type Mounts, reachableSockets } from './bubblewrap.ts'
import { type CacheLayer, cachesBehind, openCaches } from './caches.ts'
import { copyRewritten, findClosedPrograms, makeClosedFolders } from './closed-programs.ts'
import type { ReadGitSettings } from './git.ts'
import { GRAFTS } from './git-files.ts'
import { type CopiedFile, copiesWithoutLogins, keptFolder, prepareAgentFolder, type Scratch } from './home.ts'
import { followLinks, refuseLinks } from './mount-sources.ts'
import type { SandboxNeeds, SandboxSettings } from './settings.ts'

/** Only these parts of a home directory are shown: programs and their files. A list of secrets would never be complete. */
const TOOLS = [
  ...['.nvm', '.volta', '.fnm', '.asdf', '.pyenv', '.rbenv', '.rustup', '.bun', '.deno/bin', 'go/bin'],
  ...['.npm-global/bin', '.npm-global/lib', '.cargo/bin', '.sdkman/candidates'],
  ...['.local/bin', '.local/lib', '.local/share/fnm', '.local/share/mise', '.local/share/pipx', '.local/share/pnpm'],
  ...['.local/share/uv/python', '.local/share/uv/tools', '.gitconfig', '.config/git/config', '.config/git/ignore'],
]

export interface SandboxedCommand {
  cwd: string
  env: Record<string, string | undefined>
  /** The agent's program. */
  command: string
  args: string[]
  /** Paths that were made for this session. */
  shows: string[]
  /** Those of the shown paths that the agent may write. */
  writes: string[]
}

interface SandboxScope {
  settings: SandboxSettings
  needs: SandboxNeeds
  reading: boolean
  scratch: Scratch
  /** The environment of the agent before it got a home of ours. */
  env: SandboxedCommand['env']
  readGitSettings: ReadGitSettings
}

/** What a command sees and may write: its project, what git needs, its own state, and programs. A read-only session writes its state only. */
export function mountsFor(
  inside: SandboxedCommand,
  { settings, needs, reading, scratch, env, readGitSettings }: SandboxScope,
): Mounts & { layers: CacheLayer[]; copied: CopiedFile[]; closed: string[] } {
  const home = realHome(inside.env)
  const secret = realPaths([home, homedir(), ...settings.hidden].filter(path => path !== '/'))
  const existing = (paths: string[]) => existingPaths(paths, secret)
  const project = existing([
    inside.cwd,
    ...(settings.git && isInside(inside.cwd, settings.git.top) ? [settings.git.top] : []),
  ])
  refuseExposed(inside.cwd, secret, project)
  const hidden = [...secret, ...runtimeFolders(inside.env, [...secret, ...project])]
  const writtenBefore = [...project, ...(settings.git ? [settings.git.own, settings.git.common] : [])]
  const inHome = (path: string) => resolve(home, path.replace(/^~\//, ''))
  const projects = [...project, ...(settings.git ? [dirname(settings.git.common)] : [])]
  const folderEnv = needs.folder?.linked ? env : inside.env
  const keptHere = keptFolder(needs.folder, { settings, reading, scratch })
  const folder =
    needs.folder && prepareAgentFolder(needs.folder, { env: folderEnv, home, projects, scratch, kept: keptHere })
  const setUp = (needs.shown ?? []).map(inHome)
  for (const path of setUp) mkdirSync(path, { recursive: true, mode: 0o700 })
  refuseLinks([inside.cwd, ...(settings.git ? Object.values(settings.git) : [])], writtenBefore)
  const gitSettings = readGitSettings(settings.git ?? { top: inside.cwd }, { ...inside.env, HOME: home })
  const git = !reading ? prepareGitMounts(settings) : { writable: [], kept: [], regained: [] }
  const read = reading ? [...project, ...(settings.git ? [settings.git.common] : [])] : []
  const written = reading ? [] : [...project, ...git.writable, ...settings.write.map(inHome)]
  const closed = findClosedPrograms({ ...settings, home, programs: gitSettings.programs, writable: written })
  makeClosedFolders(closed)
  const shown = existing([
    ...[...TOOLS, ...settings.read].map(inHome),
    ...gitSettings.shown.filter(path => !hidden.some(secret => isInside(secret, path))),
    ...programPaths(inside, hidden),
    ...inside.shows,
    ...(folder?.shown ?? []),
    ...setUp,
    ...read,
  ])
  const writable = existing([...written, ...inside.writes, ...(folder?.writable ?? [])])
  // The settings may show a home directory, but never our own hidden paths.
  refuseExposed(inside.cwd, existing(settings.hidden), [...shown, ...writable])
  const kept = [...git.kept, ...(reading ? [] : [...gitSettings.files, ...(settings.kept ?? [])])]
  refuseLinks([...kept, ...git.regained, ...git.writable], writtenBefore)
  kept.push(...closed.kept)
  const { files, shown: named } = gitSettings
  const ofGit = [...['.gitconfig', '.config/git/config'].map(inHome), ...named.filter(path => files.includes(path))]
  const copies = copiesWithoutLogins(
    home,
    ofGit.filter(path => !projects.some(folder => isInside(path, folder))),
    scratch.root,
  )
  const isCopied = (path: string) =>
    copies.some(({ to }) => to === path || (existsSync(path) && to === realpathSync(path)))
  const { folders: caches, layers } = openCaches(home, settings.caches, {
    scratch: scratch.caches,
    more: needs.caches ?? [],
    shown,
  })
  // A mount needs a folder, and bubblewrap cannot make one in what is read-only: pnpm and Bun keep programs around their caches.
  for (const { to } of caches) if (shown.some(folder => isInside(to, folder))) mkdirSync(to, { recursive: true })
  return {
    tmp: scratch.tmp,
    hidden,
    replaced: [...realPaths([home]).map(to => ({ from: scratch.home, to })), ...(folder?.replaced ?? [])],
    shown,
    masked: foreignSockets({ hidden, shown, meant: existing(inside.shows) }),
    shownElsewhere: [...cachesBehind(home, inside.env).folders, ...copies],
    caches,
    layers,
    writable,
    kept: existing([...kept.filter(path => !isCopied(path)), ...(folder?.readOnly ?? [])]),
    regained: existing(git.regained),
    fixed: [...existing([...project, ...kept, ...git.regained, ...(folder?.readOnly ?? [])]), ...closed.links],
    copies: copyRewritten(closed, scratch.root),
    closed: [...closed.kept, ...closed.links],
    copied: folder?.copied ?? [],
  }
}

/**
 * The folders of sockets that are not in /run: programs put new ones there at any time. Where one is in the project, or above it, it is the
 * project's own.
 */
function runtimeFolders(env: SandboxedCommand['env'], known: string[]): string[] {
  const named = [env, process.env].flatMap(({ XDG_RUNTIME_DIR, TMPDIR, TMUX_TMPDIR }) => [
    ...[XDG_RUNTIME_DIR, TMPDIR, TMUX_TMPDIR].filter(path => path?.startsWith('/')),
  ])
  const folders = realPaths(['/var/run', ...named.filter(path => path !== undefined)])
  const isCovered = (folder: string) => [...COVERED, ...known].some(cover => isInside(folder, cover))
  return folders.filter(folder => !isCovered(folder) && !known.some(path => isInside(path, folder)))
}

/** The sockets that would be visible, without those that are meant to be used. */
function foreignSockets({ hidden, shown, meant }: { hidden: string[]; shown: string[]; meant: string[] }): string[] {
  const deepest = (path: string, folders: string[]) =>
    Math.max(0, ...folders.filter(folder => isInside(path, folder)).map(({ length }) => length))
  return reachableSockets().filter(path => {
    const cover = deepest(path, [...hidden, ...COVERED])
    return deepest(path, meant) === 0 && (cover === 0 || deepest(path, shown) >= cover)
  })
}

/** The home directory, without the links that lead to it: inside there may be nothing else at its path. */
export function realHome({ HOME: home = homedir() }: Record<string, string | undefined>): string {
  return existsSync(home) ? realpathSync(home) : home
}

/** The first of these paths that a command in the sandbox does not find as it is on this machine: its home and its /tmp are its own. */
export function findHiddenPath(
  paths: readonly string[],
  { settings, home, project }: { settings: SandboxSettings; home: string; project: string },
): string | undefined {
  const inHome = (path: string) => resolve(home, path.replace(/^~\//, ''))
  const covers = [home, realHome({ HOME: home }), ...settings.hidden, ...COVERED].filter(path => path !== '/')
  const shown = [
    project,
    ...Object.values(settings.git ?? {}),
    ...[...TOOLS, ...settings.read, ...settings.write].map(inHome),
  ]
  const isIn = (path: string, folders: readonly string[]) => folders.some(folder => isInside(path, folder))
  return paths.find(path => isIn(path, covers) && !isIn(path, shown))
}

/** Whether a sandbox for this project, whose path has no links, would show what it has to hide; throws then. */
export function checkProject(project: string, settings: Pick<SandboxSettings, 'hidden'>, home: string): void {
  refuseExposed(project, realPaths([home, homedir(), ...settings.hidden]), [project])
}

function refuseExposed(cwd: string, hidden: string[], seen: string[]): void {
  const exposed = hidden.find(secret => seen.some(path => isInside(secret, path)))
  if (exposed !== undefined) throw new AppError('sandbox_project', { project: cwd, hidden: exposed })
}

/** Folders of the PATH, the agent's program and ours that are hidden: only these themselves, never the folders that contain hidden paths. */
function programPaths({ command, args, env, cwd }: SandboxedCommand, hidden: string[]): string[] {
  const program = findProgram(command, env, cwd)
  // A program may be a script that another one runs.
  const scripts = args.filter(arg => arg.startsWith('/') && existsSync(arg) && statSync(arg).isFile())
  const files = [process.execPath, ...scripts, ...(program === undefined ? [] : [program])]
  const covers = [...hidden, ...COVERED]
  const exposes = (folder: string) => covers.some(cover => isInside(cover, folder))
  // A folder of the project is there anyway, and may be a link by now.
  const folders = (env['PATH'] ?? '').split(':').filter(folder => folder.startsWith('/') && !isInside(folder, cwd))
  const needed = [...folders, ...files, ...files.map(file => realpathSync(file))].flatMap(path => [
    path,
    ...packagesAround(path),
    ...librariesOf(path).filter(folder => !exposes(dirname(folder))),
  ])
  return needed.filter(path => !exposes(path) && covers.some(cover => isInside(path, cover)))
}

/** The packages in this folder from which pcc itself runs: who changes them has what they like run by the person's next command. */
export function packagesOfPcc(folder: string, files = [packagePath('bin/pcc.js'), process.execPath]): string[] {
  const inside = files.filter(file => isInside(file, folder)).map(file => file.slice(folder.length))
  return [...new Set(inside.flatMap(packagesAround))].map(path => `${folder}${path}`)
}

/** A package finds others in the `node_modules` that contains it, and nothing else is there. */
function packagesAround(path: string): string[] {
  const at = path.indexOf('/node_modules/')
  return at < 0 ? [] : [path.slice(0, at + '/node_modules'.length)]
}

/**
 * The files of programs in a `bin` are beside it, under these names; logins and settings are there too, under other names. By its
 * `pyvenv.cfg` Python knows a virtual environment.
 */
function librariesOf(path: string): string[] {
  const bin = [path, dirname(path)].find(folder => basename(folder) === 'bin')
  return bin === undefined ? [] : ['lib', 'libexec', 'pyvenv.cfg'].map(name => join(dirname(bin), name))
}

/** The paths that exist, each with the one that it leads to; without those that an agent may have led to something hidden. */
function existingPaths(paths: string[], hidden: string[]): string[] {
  return paths
    .filter(path => existsSync(path))
    .flatMap(path => {
      const real = followLinks(path, hidden)
      return real === undefined ? [] : [...new Set([path, real])]
    })
}

/** The paths that exist, without the links that lead to them: a mount is made where a link leads. */
function realPaths(paths: string[]): string[] {
  return [...new Set(paths.filter(path => existsSync(path)).map(path => realpathSync(path)))]
}

/** The paths of a repository: writable ones, read-only ones inside them, and writable ones inside those again. */
export interface GitMounts {
  writable: string[]
  kept: string[]
  regained: string[]
}

/**
 * An agent commits into the repository that all checkouts share, but must not change files that make git run something. In a worktree only
 * the paths that a commit needs are writable: a `commondir` in the shared folder, or in that of another worktree, would make git read a
 * `config` of the agent. In the main checkout git writes beside these files, so there the known dangerous paths are read-only, and
 * `guardGit` watches for the one that cannot be protected like this.
 */
function gitMounts({ git, branches }: Pick<SandboxSettings, 'git' | 'branches'>): GitMounts {
  if (!git) return { writable: [], kept: [], regained: [] }
  const { top, own, common } = git
  const inCommon = (...names: string[]) => names.map(name => join(common, name))
  if (own === common) {
    const kept = inCommon('config', 'config.worktree', ...CLOSED, ...infoFiles(common), REPLACED, BORROWED)
    // A `.git` that is a file leads git to the repository, and could lead it to one of the agent's own.
    if (lstatSync(join(top, '.git'), { throwIfNoEntry: false })?.isFile()) kept.push(join(top, '.git'))
    // The folder itself is mounted too: a mounted directory cannot be moved away. Those that sandboxes of worktrees mount must not be either:
    // a link in their place would be mounted there.
    return { writable: [common], kept, regained: inCommon(...SHARED) }
  }
  const ownKept = ['commondir', 'gitdir', 'config.worktree'].map(name => join(own, name))
  const others = inCommon(...(branches === undefined ? [REPLACED] : OTHER_REFS))
  return {
    writable: [],
    kept: [common, join(top, '.git'), ...ownKept, ...others, join(common, BORROWED)],
    // The log of the main checkout's HEAD is beside these: git outside would append to what a link in its place leads to.
    regained: [own, ...inCommon(...SHARED, ...branchFolders(branches))],
  }
}

/** In these folders of a main checkout git finds what it runs, other checkouts, and where it fetches and pushes: before 2005 in `remotes` and `branches`. */
const CLOSED = ['hooks', 'worktrees', 'modules', 'remotes', 'branches']

/** What git reads here hides files and differences from the person. */
const INFO = 'info'

/** Where git writes which files are checked out, only the others are closed, those that no repository lacks even where they do not exist. */
function infoFiles(common: string): string[] {
  if (!existsSync(join(common, INFO, 'sparse-checkout'))) return [INFO]
  const grafts = existsSync(join(common, GRAFTS)) ? [GRAFTS] : []
  return [`${INFO}/exclude`, `${INFO}/attributes`, ...grafts]
}

/** Objects that pass for others, whose names are asked for. */
const REPLACED = 'refs/replace'

/** Here a repository names others whose objects it reads. No commit writes here. */
const BORROWED = 'objects/info'

/** What all checkouts share and a commit writes. */
const SHARED = ['objects', 'refs', 'logs/refs', 'reftable', 'lfs']

/** Refs that are not the agent's to move: branches, tags, work that pcc keeps, and objects that pass for others. */
const OTHER_REFS = ['refs/heads', 'refs/tags', 'refs/pcc', REPLACED, 'logs/refs/heads', 'logs/refs/tags']

function branchFolders(branches: string | undefined): string[] {
  return branches === undefined ? [] : [`refs/heads/${branches}`, `logs/refs/heads/${branches}`]
}

/** Git passes over a file of this name, and removes no folder that has one: the mounts of a folder would go with it. */
const KEEPS_FOLDER = 'keep.lock'

/** What does not exist cannot be mounted, and the agent could make it. */
function prepareGitMounts(settings: Pick<SandboxSettings, 'git' | 'branches'>): GitMounts {
  const { git, branches } = settings
  if (!git) return gitMounts(settings)
  const { own, common } = git
  ensureWorktreeConfig(own)
  const ofBranches = branchFolders(branches)
  const others = branches === undefined ? [REPLACED] : OTHER_REFS
  refuseLinks(
    [...others, ...ofBranches, ...(own === common ? [INFO, ...infoFiles(common)] : [])].map(name => join(common, name)),
    [common],
  )
  const ofMode = own === common ? [...CLOSED, INFO, REPLACED] : ['objects', 'refs', 'logs/refs', ...others]
  for (const name of [...ofMode, BORROWED]) mkdirSync(join(common, name), { recursive: true })
  if (own === common) {
    keepWorktreesFolder(common)
    for (const name of infoFiles(common)) makeFile(join(common, name))
  }
  for (const name of own === common ? [] : ofBranches) {
    mkdirSync(join(common, name), { recursive: true })
    makeFile(join(common, name, KEEPS_FOLDER))
  }
  return gitMounts(settings)
}

/** Whatever an agent has put in its place stays, and a pipe is not opened. */
function makeFile(path: string): void {
  if (!lstatSync(path, { throwIfNoEntry: false })) closeSync(openSync(path, 'wx'))
}

/**
 * Names all that a sandbox for this folder would be made of now and that somebody can change: the folders and files of the project and its
 * repository, as the file system knows them, and the files of git's settings. A process that has waited in a sandbox is used only if its
 * sandbox would be the same now. Throws what a new sandbox would be refused for.
 */
export function identifyMounts(
  { cwd, env }: Pick<SandboxedCommand, 'cwd' | 'env'>,
  { settings, readGitSettings }: Pick<SandboxScope, 'settings' | 'readGitSettings'>,
): string {
  const { git } = settings
  const { writable, kept, regained } = gitMounts(settings)
  const paths = [...new Set([cwd, ...(git ? Object.values(git) : []), ...writable, ...kept, ...regained])]
  refuseLinks(paths, [cwd, ...(git ? Object.values(git) : [])])
  const home = realHome(env)
  const { files, programs } = readGitSettings(git ?? { top: cwd }, { ...env, HOME: home })
  const top = git && isInside(cwd, git.top) ? [git.top] : []
  const closed = findClosedPrograms({ ...settings, home, programs, writable: [cwd, ...top, ...writable] })
  paths.push(...closed.kept, ...closed.links)
  const ids = paths.map(path => {
    const stats = lstatSync(path, { throwIfNoEntry: false, bigint: true })
    // The number of a deleted file is soon given to another one.
    return stats && `${stats.dev} ${stats.ino} ${stats.birthtimeNs}`
  })
  return JSON.stringify([files, paths, ids])
}

/**
 * With its last worktree git removes the folder of all, and what is mounted on it in sandboxes; the next one would be writable there. Git
 * neither lists nor prunes a locked worktree that names no directory.
 */
function keepWorktreesFolder(common: string): void {
  const folder = join(common, 'worktrees/pcc-keep')
  mkdirSync(folder, { recursive: true })
  const file = join(folder, 'locked')
  if (!lstatSync(file, { throwIfNoEntry: false })) writeFileSync(file, 'kept for sandboxes of pcc\n', { flag: 'wx' })
}

/** Git reads this file if the repository has settings per worktree; an empty file changes nothing. A link is refused where links are looked for. */
function ensureWorktreeConfig(own: string): void {
  const path = join(own, 'config.worktree')
  if (lstatSync(path, { throwIfNoEntry: false })) return
  closeSync(openSync(path, constants.O_WRONLY | constants.O_CREAT | constants.O_NOFOLLOW, 0o666))
}
