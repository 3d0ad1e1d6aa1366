import { lstatSync, realpathSync, type Stats, statSync } from 'node:fs'

// Looking a file up takes microseconds; to have another thread look takes a tenth of a millisecond, and a hook looks fifty times.

/** What is at a path, with links followed; undefined if nothing is, or if it cannot be accessed. */
export function lookUp(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

/** The same without following a link at the path itself. */
export function lookUpEntry(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

/** The path without links; undefined if nothing is there, or it cannot be accessed. */
export function realPathIfAny(path: string): string | undefined {
  try {
    return realpathSync.native(path)
  } catch {
    return undefined
  }
}

/** Whether something is at a path. What cannot be accessed counts as there, so that it is refused with a reason and not ignored. */
export function isThere(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code !== 'ENOTDIR'
  }
}
