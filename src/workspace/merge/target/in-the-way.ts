import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { git } from '../../git/git.ts'
import { type CheckoutStatus, statusOf } from '../status.ts'
import type { Standing } from '../work/standing.ts'
import type { Checkout } from './checkouts.ts'

/** Why a checkout may not be brought from one commit to another now, in words for the person; undefined where it may. */
export async function inTheWay(checkout: Checkout, from: string, to: string): Promise<string | undefined> {
  const { top, standing } = checkout
  if (standing) return underWay(checkout, standing)
  const status = await statusOf(top, 'no')
  return typeof status === 'string' ? status : blockedBy(status, { top, from, to })
}

/** Somebody is in the middle of something there. */
export function underWay({ top }: Checkout, { kind }: Standing): string {
  return `a ${kind} is under way in ${top}: finish or abort it`
}

/** The same for a checkout whose status is known, and in which nothing is under way. */
export async function blockedBy(
  { loose }: CheckoutStatus,
  { top, from, to }: { top: string; from: string; to: string },
): Promise<string | undefined> {
  if (loose.length > 0) return `${top} has changes that are not committed: ${some(loose)}. Commit or stash them`
  const unknown = await untrackedInTheWay(top, from, to)
  if (unknown.length === 0) return undefined
  return `files in ${top} that git does not know would be overwritten: ${some(unknown)}. Move them away`
}

/** Files that come with the new commit and are there already: ignored ones too, which git itself would overwrite. */
async function untrackedInTheWay(top: string, from: string, to: string): Promise<string[]> {
  const args = ['diff-tree', '-r', '--name-status', '--diff-filter=AD', '--no-renames', '-z', from, to]
  const fields = listed((await git(top, args)).stdout)
  const leaves = new Set(fields.filter((_, index) => index % 2 === 1 && fields[index - 1] === 'D'))
  const added = fields.filter((_, index) => index % 2 === 1 && fields[index - 1] === 'A')
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
