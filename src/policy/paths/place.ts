import { isAbsolute, join, relative, resolve, sep } from 'node:path'

/** What a path is measured against. */
export interface Fence {
  /** Real path of the project, or of the task's worktree when it has one: nothing outside it is ours. */
  boundary: string
  home: string
  /** Folders, relative to the boundary, in which a write is LOW. */
  safe: readonly string[]
  /** The path with every link followed, the part that does not exist yet included; `undefined` when it cannot be told. */
  realPath: (path: string) => string | undefined
}

export type Place =
  | { where: 'inside'; path: string; relative: string }
  | { where: 'outside'; path: string }
  /** Spelled so that the agent may read it differently, or (`lost`) leading nowhere that can be told. */
  | { where: 'strange'; why: string; lost?: true }

/** Follows a path as the system would and says on which side of the fence it ends. */
export function placeOf(path: string, cwd: string, fence: Fence): Place {
  const strange = strangeSpelling(path)
  if (strange) return { where: 'strange', why: strange }
  const spelled = resolve(cwd, expandHome(path, fence.home))
  const real = fence.realPath(spelled)
  if (real === undefined) return { where: 'strange', why: 'it cannot be told where it leads', lost: true }
  return isInside(real, fence.boundary)
    ? { where: 'inside', path: real, relative: relative(fence.boundary, real) }
    : { where: 'outside', path: real }
}

/** Whether `path` is `folder` or lies in it; both absolute. A sibling that begins with the folder's name does not. */
function isInside(path: string, folder: string): boolean {
  if (path === folder) return true
  if (path.startsWith(folder.endsWith(sep) ? folder : folder + sep)) return !path.includes(`${sep}..`)
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
  if (path.trim() !== path) return 'it begins or ends with a space'
  if (path.includes('\\')) return 'it holds a backslash'
  if (/^~[^/]/.test(path)) return "it names another user's home"
  if (/\$(?!HOME\b|\{HOME\})[A-Za-z_{(]|%[A-Za-z_]+%/.test(path)) return 'it holds a variable'
  if (/^[a-z][a-z+.-]*:(\/\/|[^/])/i.test(path)) return 'it is an address or names a drive'
  return undefined
}
