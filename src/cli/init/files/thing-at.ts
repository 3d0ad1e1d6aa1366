import { lstatSync, realpathSync, type Stats, statSync } from 'node:fs'
import { dirname, join, sep } from 'node:path'

export type Thing =
  | { kind: 'nothing' }
  | { kind: 'file'; isLink: boolean }
  | { kind: 'folder' }
  /** Nothing may be written there. */
  | { kind: 'barred'; why: string }

/** What stands at a path of a project. Nothing is ever written through a link that leads out of the project. */
export function thingAt(project: string, path: string): Thing {
  const parts = path.split('/')
  for (let depth = 1; depth < parts.length; depth++) {
    const above = parts.slice(0, depth).join('/')
    const found = look(join(project, above))
    if (!found) return { kind: 'nothing' }
    if (found.isSymbolicLink() && !leadsInside(project, join(project, above))) {
      return { kind: 'barred', why: `${above} is a link that leads out of the project` }
    }
    if (!isFolder(join(project, above))) return { kind: 'barred', why: `${above} is a file` }
  }
  const at = join(project, path)
  const found = look(at)
  if (!found) return { kind: 'nothing' }
  if (found.isSymbolicLink() && !leadsInside(project, at)) {
    return { kind: 'barred', why: 'it is a link that leads out of the project, or nowhere' }
  }
  if (isFolder(at)) return { kind: 'folder' }
  if (!statSync(at).isFile()) return { kind: 'barred', why: 'it is neither a file nor a folder' }
  return { kind: 'file', isLink: found.isSymbolicLink() }
}

/** The nearest folder at or above a path of the project that is there. */
export function nearestFolder(project: string, path: string): string {
  let at = dirname(join(project, path))
  while (at !== project && !look(at)) at = dirname(at)
  return at
}

function look(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false })
}

function leadsInside(project: string, path: string): boolean {
  try {
    const target = realpathSync(path)
    return target === project || target.startsWith(project + sep)
  } catch {
    return false // it leads nowhere, or round in a circle
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}
