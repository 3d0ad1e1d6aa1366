import { lstatSync, readlinkSync, realpathSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'

/**
 * The absolute path with every link followed, also when its end does not exist yet: a link that dangles is followed to where
 * a write would land. `undefined` for loops, for what may not be entered and for a file used as a folder.
 */
export function realPathOf(path: string): string | undefined {
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
