import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Worktree } from '../../../domain/workspace/place.ts'
import { adminFolder } from '../genuine.ts'
import { type PlaceNote, readNote, writeNote } from './place-note.ts'

/** Files that all checkouts of a repository share, by which git sees other files, another history or another content. */
const SHARED = ['info/exclude', 'info/attributes', 'objects/info/alternates', 'shallow', './commondir']

/** Of what git keeps for this worktree alone: where the rest lies. */
const OWN = ['commondir']

/**
 * Notes what git is told in a worktree beside its tree, before an agent works there. An agent's git can write to the shared folder of
 * its repository; what was said there afterwards is nobody's word.
 */
export async function noteShared(row: Pick<Worktree, 'top' | 'repository'>, bases: readonly string[]): Promise<void> {
  const own = await adminFolder(row)
  if (own === undefined) return
  const sparse = await textOf(join(own, 'info', 'sparse-checkout'))
  await writeNote(row.top, { shared: await sharedIn(row.repository, own), sparse, bases: [...bases] })
}

/** What is in those files; null for one that is not there. */
export async function sharedIn(common: string, own: string): Promise<NonNullable<PlaceNote['shared']>> {
  const files = [...SHARED.map(name => [name, join(common, name)]), ...OWN.map(name => [name, join(own, name)])]
  const read = files.map(async ([name = '', file = '']) => [name, await textOf(file)] as const)
  return Object.fromEntries(await Promise.all(read))
}

/** The work is put onto these commits of its target, by us: from there on it is its own. */
export async function noteBases(top: string, commits: readonly string[]): Promise<void> {
  const { bases } = await readNote(top)
  if (bases.length === 0 || commits.every(commit => bases.includes(commit))) return
  await writeNote(top, { bases: [...new Set([...bases, ...commits])].slice(-MOST) })
}

/** A target that has moved so often since is one that nobody asks about any more. */
const MOST = 200

function textOf(file: string): Promise<string | null> {
  return readFile(file, 'utf8').catch(() => null)
}
