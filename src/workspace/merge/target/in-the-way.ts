import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { git } from '../../git/git.ts'
import type { Checkout } from './checkouts.ts'

/** Why a checkout may not be brought from one commit to another now, in words for the person; undefined where it may. */
export async function inTheWay({ top, standing }: Checkout, from: string, to: string): Promise<string | undefined> {
  if (standing) return `a ${standing.kind} is under way in ${top}: finish or abort it`
  const changed = await git(top, ['status', '--porcelain', '--untracked-files=no', '--no-renames', '-z'])
  if (!changed.ok) return `git status fails in ${top}: ${changed.stderr.trim()}`
  const dirty = listed(changed.stdout).map(line => line.slice(3))
  if (dirty.length > 0) return `${top} has changes that are not committed: ${some(dirty)}. Commit or stash them`
  const unknown = await untrackedInTheWay(top, from, to)
  if (unknown.length === 0) return undefined
  return `files in ${top} that git does not know would be overwritten: ${some(unknown)}. Move them away`
}

/** Files that come with the new commit and are there already: ignored ones too, which git itself would overwrite. */
async function untrackedInTheWay(top: string, from: string, to: string): Promise<string[]> {
  const compare = async (filter: string) => {
    const args = ['diff-tree', '-r', '--name-only', `--diff-filter=${filter}`, '--no-renames', '-z', from, to]
    return listed((await git(top, args)).stdout)
  }
  const added = await compare('A')
  if (added.length === 0) return []
  const leaves = new Set(await compare('D'))
  const found: string[] = []
  for (const path of added) {
    // A file that is a folder from now on, or lies where one has to be.
    const blocking = leading(path).find(part => !leaves.has(part) && kindAt(join(top, part)) === 'file')
    if (blocking !== undefined) found.push(blocking)
    else if (kindAt(join(top, path)) === 'file') found.push(path)
    else if (kindAt(join(top, path)) === 'folder') found.push(...(await unknownBelow(top, path)))
  }
  return [...new Set(found)]
}

/** Without a word about ignored files git lists those as well. */
async function unknownBelow(top: string, path: string): Promise<string[]> {
  return listed((await git(top, ['ls-files', '--others', '-z', '--', path])).stdout)
}

/** `a/b/c` gives `a` and `a/b`. */
function leading(path: string): string[] {
  const parts = path.split('/')
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join('/'))
}

function kindAt(path: string): 'file' | 'folder' | undefined {
  try {
    const stats = lstatSync(path, { throwIfNoEntry: false })
    return stats && (stats.isDirectory() ? 'folder' : 'file')
  } catch {
    return undefined // something above it is a file, which is looked at by itself
  }
}

function listed(text: string): string[] {
  return text.split('\0').filter(each => each !== '')
}

const MOST_NAMED = 5

function some(paths: readonly string[]): string {
  const more = paths.length - MOST_NAMED
  return `${paths.slice(0, MOST_NAMED).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}
