import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'

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
  const spelled = expandHome(path, world.home)
  const tidied = world.realPath(resolve(world.cwd, spelled))
  // "link/.." is the link's own folder to a program that tidies paths and the target's parent to the system: both must hold.
  const walked = spelled.includes('..') ? walk(spelled, world) : tidied
  if (tidied === undefined || walked === undefined) return { where: 'strange', why: 'it cannot be told where it leads' }
  const outside = [tidied, walked].find(real => !isInside(real, world.project))
  if (outside !== undefined) return { where: 'outside', path: outside }
  if (tidied !== walked) return { where: 'strange', why: 'it can be read in two ways' }
  return { where: 'inside', relative: relative(world.project, tidied) }
}

/** Step by step as the system does it: each `..` leaves the folder that the path before it really leads to. */
function walk(path: string, world: World): string | undefined {
  let here: string | undefined = isAbsolute(path) ? '/' : world.cwd
  for (const step of path.split('/')) {
    if (here === undefined) return undefined
    if (step === '..') here = parentOf(world.realPath(here))
    else if (step !== '' && step !== '.') here = join(here, step)
  }
  return here === undefined ? undefined : world.realPath(here)
}

function parentOf(real: string | undefined): string | undefined {
  return real === undefined ? undefined : dirname(real)
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
