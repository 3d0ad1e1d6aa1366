import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Conflict } from '../../../domain/workspace/merge.ts'
import type { Place } from '../../../domain/workspace/place.ts'
import { committer } from '../../git/committer.ts'
import { git } from '../../git/git.ts'
import { findGitFolder } from '../../git/git-folder.ts'
import { isGenuine } from '../../worktrees/genuine.ts'
import { ask } from '../refs.ts'
import { conflictIn, unmergedIn } from './conflict.ts'
import { standingIn, standingInFolder } from './standing.ts'

/**
 * `none`: nothing stands. `done`: it stood and is finished, the branch holds it. `conflict`: the next commit of the rebase could
 * not be brought over either. `unresolved`: what was given back is not finished, and `missing` says in sentences what is.
 */
export type Continued =
  | { kind: 'none' | 'done' }
  | { kind: 'conflict'; conflict: Conflict }
  | { kind: 'unresolved'; conflict: Conflict | undefined; missing: string[] }
  | { kind: 'broken'; why: string }

/** A rebase of more commits than that is not one that an agent left. */
const MOST_STEPS = 1_000

/** Goes on with the rebase or merge that was left in a task's worktree, after its agent has edited and added. */
export async function continueRebase(place: Pick<Place, 'top' | 'branch'>): Promise<Continued> {
  const folder = await findGitFolder(place.top)
  if (!folder || !(await isGenuine({ top: place.top, repository: folder.common }))) {
    return { kind: 'broken', why: `${place.top} is not the worktree that was made there` }
  }
  const standing = await standingInFolder(folder.own)
  if (standing?.kind !== 'rebase' && standing?.kind !== 'merge') return { kind: 'none' }
  const missing = await missingIn(place.top)
  if (missing.length > 0) return { kind: 'unresolved', conflict: await conflictIn(place.top), missing }
  // What it changed beside the conflict belongs to its work: git would refuse to go on over it, or throw it away.
  const added = await git(place.top, ['add', '-A', '.'])
  if (!added.ok) return { kind: 'broken', why: `git add failed: ${added.stderr.trim()}` }
  return standing.kind === 'rebase' ? goOn(place) : conclude(place)
}

async function missingIn(top: string): Promise<string[]> {
  const open = await unmergedIn(top)
  const staged = await ask(top, ['diff', '--name-only', '--diff-filter=AM', '--no-renames', '-z', 'HEAD'])
  const changed = (staged ?? '').split('\0').filter(path => path !== '' && !open.has(path))
  const marked = await withMarkers(top, [...open.keys(), ...changed])
  return [
    ...marked.map(path => `${path} still has conflict markers (<<<<<<<, =======, >>>>>>>)`),
    ...[...open.keys()]
      .filter(path => !marked.includes(path))
      .map(path => `${path} is not marked as resolved: git add ${path}`),
  ]
}

/** A line of seven signs alone may be a heading: both ends have to be there, in order. */
const MARKED = /^<{7} .*$[\s\S]*?^={7}$[\s\S]*?^>{7} .*$/m
const MOST_FILES = 500

async function withMarkers(top: string, paths: readonly string[]): Promise<string[]> {
  const marked: string[] = []
  for (const path of paths.slice(0, MOST_FILES)) {
    const text = await readFile(join(top, path), 'latin1').catch(() => '')
    // A file that had them before this work, such as a test of a merge tool, is nobody's conflict.
    if (MARKED.test(text) && !MARKED.test((await ask(top, ['show', `HEAD:${path}`])) ?? '')) marked.push(path)
  }
  return marked
}

async function goOn(place: Pick<Place, 'top' | 'branch'>): Promise<Continued> {
  const env = await committer(place.top)
  for (let step = 0; step < MOST_STEPS; step += 1) {
    // A commit of which nothing is left is skipped: the target has it already.
    const isEmpty = (await git(place.top, ['diff', '--cached', '--quiet', 'HEAD'])).ok
    const hasStopped = (await ask(place.top, ['rev-parse', '--verify', '--quiet', 'REBASE_HEAD'])) !== undefined
    const args = isEmpty && hasStopped ? ['rebase', '--skip'] : ['rebase', '--continue']
    const said = await git(place.top, args, { env })
    if ((await standingIn(place.top))?.kind !== 'rebase') {
      return said.ok ? finished(place) : { kind: 'broken', why: `git rebase failed: ${said.stderr.trim().slice(-500)}` }
    }
    const conflict = await conflictIn(place.top)
    if (conflict) return { kind: 'conflict', conflict }
    if (!said.ok && !isEmpty && (await standsStill(place.top))) {
      return { kind: 'broken', why: `git rebase does not go on: ${said.stderr.trim().slice(-500)}` }
    }
  }
  return { kind: 'broken', why: `the rebase did not end after ${MOST_STEPS} steps` }
}

/** Nothing to skip and nothing in conflict: trying the same again would go on for ever. */
async function standsStill(top: string): Promise<boolean> {
  return !(await git(top, ['diff', '--cached', '--quiet', 'HEAD'])).ok
}

async function finished({ top, branch }: Pick<Place, 'top' | 'branch'>): Promise<Continued> {
  const isOn = await ask(top, ['symbolic-ref', '--quiet', 'HEAD'])
  if (isOn === `refs/heads/${branch}`) return { kind: 'done' }
  return { kind: 'broken', why: `after the rebase ${top} is not on ${branch}` }
}

/** The target comes first among the parents, as in every merge that we make. */
async function conclude(place: Pick<Place, 'top' | 'branch'>): Promise<Continued> {
  const own = (await findGitFolder(place.top))?.own ?? ''
  const other = (await readFile(join(own, 'MERGE_HEAD'), 'utf8').catch(() => '')).split('\n')[0] ?? ''
  const tree = await ask(place.top, ['write-tree'])
  if (tree === undefined || other === '') return { kind: 'broken', why: 'the merge cannot be concluded' }
  const args = ['commit-tree', tree, '-p', other, '-p', 'HEAD', '-m', `Merge ${place.branch}: conflicts resolved`]
  const made = await git(place.top, args, { env: await committer(place.top) })
  const moved = made.ok && (await git(place.top, ['reset', '--hard', '--quiet', made.stdout.trim()])).ok
  return moved ? finished(place) : { kind: 'broken', why: `the merge cannot be concluded: ${made.stderr.trim()}` }
}
