import { lstat, readlink, realpath } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'

export type Place = { inside: string } | { outside: string }

/** More links in a row are a loop, or somebody's game. */
const MAX_LINKS = 40

/**
 * Where a path really is, links followed, and whether that is inside the project. What is not there yet is where its
 * deepest existing folder is. The answer is a path without links, which whoever opens it must not follow any further.
 */
export async function placeOf(path: string, root: string): Promise<Place> {
  if (!isAbsolute(path) || path.includes('\0')) return { outside: `${path} is not an absolute path` }
  const home = await realpath(root)
  const real = await realOf(resolve(path), MAX_LINKS)
  if (real === undefined) return { outside: `${path} leads through too many links` }
  const inner = relative(home, real)
  const isInside = inner === '' || (inner !== '..' && !inner.startsWith(`..${sep}`) && !isAbsolute(inner))
  return isInside ? { inside: real } : { outside: `${path} is outside of the project ${home}` }
}

async function realOf(path: string, links: number): Promise<string | undefined> {
  if (links === 0) return undefined
  try {
    return await realpath(path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ELOOP') return undefined
    if (code !== 'ENOENT' && code !== 'ENOTDIR') throw error
  }
  // It is not there, or it is a link to something that is not there: what counts is where the link leads.
  const target = await linkOf(path)
  if (target !== undefined) return realOf(resolve(dirname(path), target), links - 1)
  const parent = dirname(path)
  if (parent === path) return path
  const folder = await realOf(parent, links - 1)
  return folder === undefined ? undefined : join(folder, basename(path))
}

async function linkOf(path: string): Promise<string | undefined> {
  try {
    return (await lstat(path)).isSymbolicLink() ? await readlink(path) : undefined
  } catch {
    return undefined // it is not there at all
  }
}
