import { existsSync, mkdirSync, readdirSync, realpathSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { AppError } from '../../base/errors.ts'
import { findProgram } from '../../base/process/find-program.ts'
import type { SandboxAsked, SandboxNeeds } from '../../domain/agents/sandbox.ts'
import type { Mounts } from './mounts.ts'

/** Of a home directory only these are shown: programs and what they are made of. A list of what is secret would never be whole. */
const TOOLS = [
  ...['.nvm', '.volta', '.fnm', '.asdf', '.pyenv', '.rbenv', '.rustup', '.bun', '.deno/bin', '.npm-global', 'go'],
  ...['.cargo/bin', '.cargo/registry', '.sdkman/candidates', '.m2/repository'],
  ...['.local/bin', '.local/lib', '.local/share/fnm', '.local/share/mise', '.local/share/pipx', '.local/share/pnpm'],
  ...['.local/share/uv', '.gitconfig', '.config/git/config', '.config/git/ignore'],
]

/** Parts of a repository that decide what git runs, or that belong to another checkout of it. */
const KEPT_OF_GIT = ['config', 'hooks', 'config.worktree']
const KEPT_OF_WORKTREE = ['HEAD', 'index', 'ORIG_HEAD']

export interface Inside {
  cwd: string
  env: Record<string, string | undefined>
  /** The agent's program. */
  command: string
  args: string[]
  /** Paths that were made for this session. */
  shows: string[]
}

/** What an agent sees and may write: its project, what git needs, its own state, and programs. */
export function surroundings(inside: Inside, asked: SandboxAsked, needs: SandboxNeeds): Mounts {
  const home = inside.env['HOME'] ?? homedir()
  const hidden = there([home, homedir(), ...asked.hidden].filter(path => path !== '/'))
  const project = there([inside.cwd, ...(asked.git && isWithin(inside.cwd, asked.git.top) ? [asked.git.top] : [])])
  refuseExposed(inside, hidden, project)
  const expanded = (paths: string[]) => paths.map(path => resolve(home, path.replace(/^~\//, '')))
  const state = expanded(needs.state)
  for (const path of state) mkdirSync(path, { recursive: true, mode: 0o700 })
  const git = asked.git ? gitParts(asked.git) : { writable: [], kept: [] }
  const shown = there([...expanded([...TOOLS, ...asked.read]), ...programs(inside, hidden), ...inside.shows])
  const writable = there([...project, ...git.writable, ...state, ...expanded(asked.write)])
  // A home may be shown by who says so, and what is ours may not.
  refuseExposed(inside, there(asked.hidden), [...shown, ...writable])
  return { hidden, shown, writable, kept: there(git.kept) }
}

function refuseExposed({ cwd }: Inside, hidden: string[], seen: string[]): void {
  const exposed = hidden.find(secret => seen.some(path => isWithin(secret, path)))
  if (exposed !== undefined) throw new AppError('sandbox_project', { project: cwd, hidden: exposed })
}

/** A worktree's agent commits into the repository that all checkouts share; what makes git run something is not its to change. */
function gitParts({ top, own, common }: NonNullable<SandboxAsked['git']>): { writable: string[]; kept: string[] } {
  mkdirSync(join(common, 'hooks'), { recursive: true })
  const isWorktree = own !== common
  const submodules = readdirSync(common).includes('modules') ? [join(common, 'modules')] : []
  return {
    // By itself too: a directory that is mounted cannot be moved out of the way.
    writable: [common],
    kept: [
      ...[common, own].flatMap(folder => KEPT_OF_GIT.map(name => join(folder, name))),
      ...(isWorktree ? [join(top, '.git'), join(own, 'commondir'), join(own, 'gitdir')] : []),
      ...(isWorktree ? KEPT_OF_WORKTREE.map(name => join(common, name)) : []),
      ...submodules,
    ],
  }
}

/** What is hidden and yet on the PATH, and the agent's program and ours: these themselves, and never what they lie in. */
function programs({ command, args, env, cwd }: Inside, hidden: string[]): string[] {
  const program = findProgram(command, env, cwd)
  // A program may be a script that another one runs.
  const scripts = args.filter(arg => arg.startsWith('/') && existsSync(arg) && statSync(arg).isFile())
  const files = [process.execPath, ...scripts, ...(program === undefined ? [] : [program])]
  const covers = [...hidden, '/tmp', '/var/tmp', '/run']
  const exposes = (folder: string) => covers.some(cover => isWithin(cover, folder))
  const folders = (env['PATH'] ?? '').split(':').filter(folder => folder.startsWith('/'))
  const needed = [...folders, ...files, ...files.map(file => realpathSync(file))].flatMap(path => [
    path,
    ...packagesAround(path),
    ...librariesOf(path).filter(folder => !exposes(dirname(folder))),
  ])
  return needed.filter(path => !exposes(path) && covers.some(cover => isWithin(path, cover)))
}

/** A package finds others in the `node_modules` that it lies in, and nothing else is kept there. */
function packagesAround(path: string): string[] {
  const at = path.indexOf('/node_modules/')
  return at < 0 ? [] : [path.slice(0, at + '/node_modules'.length)]
}

/** What programs of a `bin` are made of lies beside it, under these names; logins and settings do too, under others. */
function librariesOf(path: string): string[] {
  const bin = [path, dirname(path)].find(folder => basename(folder) === 'bin')
  return bin === undefined ? [] : ['lib', 'libexec'].map(name => join(dirname(bin), name))
}

function there(paths: string[]): string[] {
  return paths.filter(path => existsSync(path)).flatMap(path => [...new Set([path, realpathSync(path)])])
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`)
}
