import { lstatSync, readlinkSync, realpathSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { findSecretPart } from './secret-files.ts'

/** A session that works in a worktree of its own: what it shares with others is not its to change. */
export interface WorktreeFence {
  /** Real path of the top of the worktree. */
  top: string
  /** Real path of the git directory that all worktrees of the repository share. */
  repository: string
}

/** What a path is measured against. */
export interface Fence {
  /** Real path of the project, or of the task's worktree when it has one: nothing outside it is ours. */
  boundary: string
  home: string
  /** Folders, relative to the boundary, in which a write is LOW. */
  safe: readonly string[]
  worktree?: WorktreeFence | undefined
  /** The path with every link followed, the part that does not exist yet included; `undefined` when it cannot be told. */
  realPath: (path: string) => string | undefined
}

export type PathLocation =
  | { where: 'inside'; path: string; relative: string }
  | { where: 'outside'; path: string }
  /** Spelled so that the agent may read it differently, or (`lost`) leading nowhere that can be told. */
  | { where: 'strange'; why: string; lost?: true }

/** Follows a path as the system would and says on which side of the fence it ends. */
export function locatePath(path: string, cwd: string, fence: Fence): PathLocation {
  const strange = strangeSpelling(path)
  if (strange) return { where: 'strange', why: strange }
  const spelled = expandHome(path, fence.home)
  const real = fence.realPath(resolve(cwd, spelled))
  // "link/.." is the link's own folder to a program that tidies paths and the target's parent to the system: both must hold.
  const walked = spelled.includes('..') ? walkPath(spelled, cwd, fence) : real
  if (real === undefined || walked === undefined)
    return { where: 'strange', why: 'it cannot be told where it leads', lost: true }
  const outside = [real, walked].filter(one => !isInside(one, fence.boundary))
  const worst = outside.find(one => findSecretPart(one) !== undefined) ?? outside[0]
  if (worst !== undefined) return { where: 'outside', path: worst }
  if (real !== walked) return { where: 'strange', why: 'it can be read in two ways', lost: true }
  return { where: 'inside', path: real, relative: relative(fence.boundary, real) }
}

/** Step by step as the system does it: each `..` leaves the folder that the path before it really leads to. */
function walkPath(path: string, cwd: string, { realPath }: Fence): string | undefined {
  let here: string | undefined = isAbsolute(path) ? '/' : cwd
  for (const step of path.split('/')) {
    if (here === undefined) return undefined
    if (step === '..') here = parentOf(realPath(here))
    else if (step !== '' && step !== '.') here = join(here, step)
  }
  return here === undefined ? undefined : realPath(here)
}

function parentOf(real: string | undefined): string | undefined {
  return real === undefined ? undefined : dirname(real)
}

/** Whether `path` is `folder` or lies in it; both absolute. A sibling that begins with the folder's name does not. */
export function isInside(path: string, folder: string): boolean {
  if (path === folder) return true
  if (!path.includes(`${sep}..`)) return path.startsWith(folder.endsWith(sep) ? folder : folder + sep)
  const step = relative(folder, path)
  return step === '' || (step !== '..' && !step.startsWith(`..${sep}`) && !isAbsolute(step))
}

function expandHome(path: string, home: string): string {
  if (path === '~' || path === '$HOME' || path === '${HOME}') return home
  const rest = /^(?:~|\$HOME|\$\{HOME\})\/(.*)$/s.exec(path)?.[1]
  return rest === undefined ? path : join(home, rest)
}

/** The agent trims, expands and converts paths by rules of its own; where ours could differ, nothing is taken for granted. */
function strangeSpelling(path: string): string | undefined {
  if (path === '') return 'it is empty'
  if (/[\0-\x1f\x7f]/.test(path)) return 'it holds a control character'
  if (/[\p{Cf}\u2028\u2029]/u.test(path)) return 'it holds a character that cannot be seen'
  if (path.trim() !== path) return 'it begins or ends with a space'
  if (path.includes('\\')) return 'it holds a backslash'
  if (/^~[^/]/.test(path)) return "it names another user's home"
  // No agent expands them further on: `app/routes/$id.tsx` is the name of a file in some frameworks.
  if (/^\$(?!HOME\b|\{HOME\})[A-Za-z_{(]|\$(?!\{HOME\})[{(]|%[A-Za-z_]+%/.test(path)) return 'it holds a variable'
  if (/^[a-z][a-z+.-]*:(\/\/|[^/])/i.test(path)) return 'it is an address or names a drive'
  return undefined
}

/** What crosses to a worker: a fence but for the function that looks at the disk. */
export type FenceData = Omit<Fence, 'realPath'>

/** Paths followed on the disk in one request; the rest leads nowhere that can be told. Each costs some microseconds. */
const MAX_PATHS = 256

/** A fence for one request, in which every path is followed once: rules ask for the same one several times. */
export function createFence(data: FenceData, realPath: Fence['realPath']): Fence {
  const seen = new Map<string, string | undefined>()
  return {
    ...data,
    realPath: path => {
      if (!seen.has(path)) seen.set(path, seen.size < MAX_PATHS ? realPath(path) : undefined)
      return seen.get(path)
    },
  }
}

/**
 * The absolute path with every link followed, also when its end does not exist yet: a link that dangles is followed to where
 * a write would land. `undefined` for loops, for what may not be entered and for a file used as a folder.
 */
export function resolveRealPath(path: string): string | undefined {
  return follow(path, { steps: MAX_STEPS })
}

/** One budget for the whole walk: links that point at one another would otherwise double the work at every step. */
const MAX_STEPS = 200

function follow(path: string, left: { steps: number }): string | undefined {
  left.steps -= 1
  if (left.steps < 0) return undefined
  try {
    return realpathSync.native(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') return undefined
  }
  const parent = dirname(path)
  const realParent = parent === path ? undefined : follow(parent, left)
  if (realParent === undefined) return undefined
  const here = join(realParent, basename(path))
  const target = linkTarget(here)
  if (target === 'unknown') return undefined
  return target === undefined ? here : follow(resolve(realParent, target), left)
}

function linkTarget(path: string): string | undefined | 'unknown' {
  try {
    if (!lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) return undefined
    return readlinkSync(path)
  } catch {
    // Not readable or gone between two looks: the caller treats it as a path that cannot be followed.
    return 'unknown'
  }
}
