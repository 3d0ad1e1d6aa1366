import { isAbsolute, relative, sep } from 'node:path'

/** A path that may have another form: with dots, doubled slashes or a slash at the end. */
const ODD = /\/\.|\/\/|\/$/

/**
 * Whether `path` is `folder` or is in it. Only names are compared: the caller resolves links. A relative path is inside of
 * nothing, `..` is resolved, and a sibling whose name begins with the folder's does not count.
 */
export function isInside(path: string, folder: string): boolean {
  if (!isAbsolute(path) || !isAbsolute(folder) || path.includes('\0') || folder.includes('\0')) return false
  if (path === folder) return true
  if (!ODD.test(path) && !ODD.test(folder)) return path.startsWith(`${folder}${sep}`)
  const steps = relative(folder, path)
  return steps === '' || (steps !== '..' && !steps.startsWith(`..${sep}`) && !isAbsolute(steps))
}
