import { existsSync, realpathSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { AppError } from '../../base/errors.ts'
import { findProgram } from '../../base/process/find-program.ts'
import type { SandboxAsked, SandboxNeeds } from '../../domain/agents/sandbox.ts'
import { gitParts } from './git-parts.ts'
import type { Mounts } from './mounts.ts'
import { ownState } from './own-state.ts'

/** Of a home directory only these are shown: programs and what they are made of. A list of what is secret would never be whole. */
const TOOLS = [
  ...['.nvm', '.volta', '.fnm', '.asdf', '.pyenv', '.rbenv', '.rustup', '.bun', '.deno/bin', '.npm-global', 'go'],
  ...['.cargo/bin', '.cargo/registry', '.sdkman/candidates', '.m2/repository'],
  ...['.local/bin', '.local/lib', '.local/share/fnm', '.local/share/mise', '.local/share/pipx', '.local/share/pnpm'],
  ...['.local/share/uv', '.gitconfig', '.config/git/config', '.config/git/ignore'],
]

export interface Inside {
  cwd: string
  env: Record<string, string | undefined>
  /** The agent's program. */
  command: string
  args: string[]
  /** Paths that were made for this session. */
  shows: string[]
  /** Of these, those that it may write. */
  writes: string[]
}

interface Around {
  asked: SandboxAsked
  needs: SandboxNeeds
  reading: boolean
  /** Where the agent keeps its state, if not in the home directory. */
  stateHome?: string | undefined
}

/** What an agent sees and may write: its project, what git needs, its own state, and programs. One that reads writes its state only. */
export function surroundings(inside: Inside, { asked, needs, reading, stateHome }: Around): Mounts {
  const home = inside.env['HOME'] ?? homedir()
  const hidden = there([home, homedir(), ...asked.hidden].filter(path => path !== '/'))
  const project = there([inside.cwd, ...(asked.git && isWithin(inside.cwd, asked.git.top) ? [asked.git.top] : [])])
  refuseExposed(inside, hidden, project)
  const inHome = (path: string) => resolve(home, path.replace(/^~\//, ''))
  const own = ownState(needs, path => resolve(stateHome ?? home, path))
  const git = asked.git && !reading ? gitParts(asked.git) : { writable: [], kept: [], regained: [] }
  const read = reading ? [...project, ...(asked.git ? [asked.git.common] : [])] : []
  const written = reading ? [] : [...project, ...git.writable, ...asked.write.map(inHome)]
  const shown = there([...[...TOOLS, ...asked.read].map(inHome), ...programs(inside, hidden), ...inside.shows, ...read])
  const writable = there([...written, ...inside.writes, ...own.state])
  // A home may be shown by who says so, and what is ours may not.
  refuseExposed(inside, there(asked.hidden), [...shown, ...writable])
  return { hidden, shown, writable, kept: there([...git.kept, ...own.kept]), regained: there(git.regained) }
}

function refuseExposed({ cwd }: Inside, hidden: string[], seen: string[]): void {
  const exposed = hidden.find(secret => seen.some(path => isWithin(secret, path)))
  if (exposed !== undefined) throw new AppError('sandbox_project', { project: cwd, hidden: exposed })
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
