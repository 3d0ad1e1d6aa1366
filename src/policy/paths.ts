import { isAbsolute, join, relative, resolve, sep } from 'node:path'

/** Where a path of a tool call leads. `strange` paths are spelled so that the agent may read them differently than we do. */
export type Located =
  | { where: 'inside'; relative: string }
  | { where: 'outside'; path: string }
  | { where: 'strange'; why: string }

export interface World {
  /** Real path of the project. */
  project: string
  /** Where relative paths of the call begin. */
  cwd: string
  home: string
  /** The path with every link followed, the part that does not exist yet included; `undefined` when that cannot be told. */
  realPath: (path: string) => string | undefined
}

/** Follows a path as the system would and says on which side of the project's fence it ends. */
export function locate(path: string, world: World): Located {
  const strange = strangeSpelling(path)
  if (strange) return { where: 'strange', why: strange }
  const spelled = resolve(world.cwd, expandHome(path, world.home))
  const real = world.realPath(spelled)
  if (real === undefined) return { where: 'strange', why: 'it cannot be told where it leads' }
  return isInside(real, world.project)
    ? { where: 'inside', relative: relative(world.project, real) }
    : { where: 'outside', path: real }
}

/** Whether `path` is `folder` or lies in it; both absolute. A sibling that begins with the folder's name does not. */
export function isInside(path: string, folder: string): boolean {
  const step = relative(folder, path)
  return step === '' || (step !== '..' && !step.startsWith(`..${sep}`) && !isAbsolute(step))
}

/** Projects so wide that "inside" means nothing: the root, the home directory and what holds it. */
export function isTooWide(project: string, home: string): boolean {
  return isInside(home, project)
}

function expandHome(path: string, home: string): string {
  if (path === '~') return home
  return path.startsWith('~/') ? join(home, path.slice(2)) : path
}

/** The agent trims, expands and converts paths by rules of its own; where ours could differ, nothing is taken for granted. */
function strangeSpelling(path: string): string | undefined {
  if (path === '') return 'it is empty'
  if (/[\0-\x1f\x7f]/.test(path)) return 'it holds a control character'
  if (path.trim() !== path) return 'it begins or ends with a space'
  if (path.includes('\\')) return 'it holds a backslash'
  if (/^~[^/]/.test(path)) return "it names another user's home"
  if (/\$[A-Za-z_{(]/.test(path)) return 'it holds a variable'
  if (/^[a-z]+:\/\//i.test(path)) return 'it is an address'
  return undefined
}
