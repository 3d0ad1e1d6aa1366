import { lstatSync, readlinkSync, realpathSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'

/**
 * The absolute path with every link followed, also when its end does not exist yet: a link that dangles is followed to where
 * a write would land. `undefined` for loops, for what may not be entered and for a file used as a folder.
 */
export function realPathOf(path: string, hops = 0): string | undefined {
  if (hops > MAX_HOPS) return undefined
  try {
    return realpathSync.native(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') return undefined
  }
  const parent = dirname(path)
  if (parent === path) return undefined
  const realParent = realPathOf(parent, hops + 1)
  if (realParent === undefined) return undefined
  const here = join(realParent, basename(path))
  const target = linkTarget(here)
  if (target === 'unknown') return undefined
  return target === undefined ? here : realPathOf(resolve(realParent, target), hops + 1)
}

/** More than any sane tree is deep; the kernel itself gives up on 40 links. */
const MAX_HOPS = 200

function linkTarget(path: string): string | undefined | 'unknown' {
  try {
    if (!lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) return undefined
    return readlinkSync(path)
  } catch {
    // Not readable or gone between two looks: the caller treats it as a path that cannot be followed.
    return 'unknown'
  }
}
