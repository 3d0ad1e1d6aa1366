import { lstatSync, readlinkSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, relative, resolve } from 'node:path'
import { isInside } from '../../base/is-inside.ts'
import { findSecretPart } from './secret-files.ts'

/** The worktree of a session that works in one. The session must not change what the worktree shares with others. */
export interface WorktreeFence {
  /** Real path of the top of the worktree. */
  top: string
  /** Real path of the git directory that all worktrees of the repository share. */
  repository: string
}

/** What paths are judged against. */
export interface Fence {
  /** Real path of the project, or of the task's worktree if it has one: nothing outside of it is ours. */
  boundary: string
  home: string
  /** Folders, relative to the boundary, in which a write is LOW. */
  safe: readonly string[]
  worktree?: WorktreeFence | undefined
  /** The path with every link followed, even if its end does not exist yet; `undefined` if that cannot be determined. */
  realPath: (path: string) => string | undefined
  /** What is at a real path. Left out, no file is read. */
  look?: ((path: string) => FoundFile | undefined) | undefined
  /** The folders with pcc's own settings and data, its home first; `~/.perpetualcc` when left out. */
  own?: readonly string[] | undefined
}

/** The folder with pcc's own settings and data. */
export function findOwnHome({ own, home }: Pick<Fence, 'own' | 'home'>): string {
  return own?.[0] ?? join(home, '.perpetualcc')
}

/** A small file with its content, or a folder with the paths of all files below it. */
export type FoundFile = { is: 'file'; bytes: Buffer } | { is: 'folder'; names: string[] }

export type PathLocation =
  | { where: 'inside'; path: string; relative: string }
  | { where: 'outside'; path: string }
  /** Spelled in a way that the agent may read differently, or (`lost`) its target cannot be determined. */
  | { where: 'strange'; why: string; lost?: true }

/** Follows a path as the system would and returns whether it ends inside the boundary. */
export function locatePath(path: string, cwd: string, fence: Fence): PathLocation {
  const strange = findStrangeSpelling(path)
  if (strange) return { where: 'strange', why: strange }
  const spelled = expandHome(path, fence.home)
  const real = fence.realPath(resolve(cwd, spelled))
  // For a program that normalises paths "link/.." is the link's own folder, for the system it is the parent of the link's target:
  // both must be inside.
  const walked = spelled.includes('..') ? walkPath(spelled, cwd, fence) : real
  if (real === undefined || walked === undefined)
    return { where: 'strange', why: 'it is not known where it leads', lost: true }
  const outside = [real, walked].filter(end => !isInside(end, fence.boundary))
  const worst = outside.find(end => findSecretPart(end) !== undefined) ?? outside[0]
  if (worst !== undefined) return { where: 'outside', path: worst }
  if (real !== walked) return { where: 'strange', why: 'it can be read in two ways', lost: true }
  return { where: 'inside', path: real, relative: relative(fence.boundary, real) }
}

/** Walks step by step as the system does: each `..` leaves the folder that the path before it really leads to. */
function walkPath(path: string, cwd: string, { realPath }: Fence): string | undefined {
  let here: string | undefined = isAbsolute(path) ? '/' : cwd
  for (const step of path.split('/')) {
    if (here === undefined) return undefined
    if (step === '..') here = findParent(realPath(here))
    else if (step !== '' && step !== '.') here = join(here, step)
  }
  return here === undefined ? undefined : realPath(here)
}

function findParent(real: string | undefined): string | undefined {
  return real === undefined ? undefined : dirname(real)
}

function expandHome(path: string, home: string): string {
  if (path === '~' || path === '$HOME' || path === '${HOME}') return home
  const rest = /^(?:~|\$HOME|\$\{HOME\})\/(.*)$/s.exec(path)?.[1]
  return rest === undefined ? path : join(home, rest)
}

/** The agent trims, expands and converts paths by rules of its own. A path that we might read differently is strange. */
function findStrangeSpelling(path: string): string | undefined {
  if (path === '') return 'it is empty'
  if (/[\0-\x1f\x7f]/.test(path)) return 'it holds a control character'
  if (/[\p{Cf}\u2028\u2029]/u.test(path)) return 'it holds a character that cannot be seen'
  if (path.trim() !== path) return 'it begins or ends with a space'
  if (path.includes('\\')) return 'it holds a backslash'
  if (/^~[^/]/.test(path)) return "it names another user's home"
  // Agents expand `$name` only at the beginning: `app/routes/$id.tsx` is a plain file name in some frameworks.
  if (/^\$(?!HOME\b|\{HOME\})[A-Za-z_{(]|\$(?!\{HOME\})[{(]|%[A-Za-z_]+%/.test(path)) return 'it holds a variable'
  if (/^[a-z][a-z+.-]*:(\/\/|[^/])/i.test(path)) return 'it is an address or names a drive'
  return undefined
}

/** The part of a fence that can be sent to a worker: all but the functions that read the disk. */
export type FenceData = Omit<Fence, 'realPath' | 'look'>

/** The most paths that are followed on the disk for one request; further ones count as unknown. Each costs some microseconds. */
const MAX_PATHS = 256

/** A fence for one request. Every path is followed only once, because rules ask for the same one several times. */
export function createFence(data: FenceData, realPath: Fence['realPath'], look?: Fence['look']): Fence {
  const seen = new Map<string, string | undefined>()
  return {
    ...data,
    look,
    realPath: path => {
      if (!seen.has(path)) seen.set(path, seen.size < MAX_PATHS ? realPath(path) : undefined)
      return seen.get(path)
    },
  }
}

/**
 * The absolute path with every link followed, even if its end does not exist yet: a dangling link is followed to where a write
 * would land. `undefined` for loops, for folders that may not be entered and for a file used as a folder.
 */
export function resolveRealPath(path: string): string | undefined {
  return follow(path, { steps: MAX_STEPS })
}

/** One budget for the whole walk: otherwise links that point at one another would double the work at every step. */
const MAX_STEPS = 200

function follow(path: string, budget: { steps: number }): string | undefined {
  budget.steps -= 1
  if (budget.steps < 0) return undefined
  try {
    // An error for each path that does not exist would cost more than the rest of a verdict.
    if (statSync(path, { throwIfNoEntry: false })) return realpathSync.native(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') return undefined
  }
  const parent = dirname(path)
  const realParent = parent === path ? undefined : follow(parent, budget)
  if (realParent === undefined) return undefined
  const here = join(realParent, basename(path))
  const target = readLinkTarget(here)
  if (target === 'unknown') return undefined
  return target === undefined ? here : follow(resolve(realParent, target), budget)
}

function readLinkTarget(path: string): string | undefined | 'unknown' {
  try {
    if (!lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) return undefined
    return readlinkSync(path)
  } catch {
    // Not readable, or gone between the two calls: the caller treats it as a path that cannot be followed.
    return 'unknown'
  }
}
