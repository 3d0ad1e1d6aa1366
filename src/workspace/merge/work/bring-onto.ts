import type { Conflict, Merge } from '../../../domain/workspace/merge.ts'
import type { Place } from '../../../domain/workspace/place.ts'
import { git } from '../../git/git.ts'
import { ask, treeOf } from '../refs.ts'
import { conflictIn } from './conflict.ts'
import { standingIn } from './standing.ts'

export type Brought =
  | { kind: 'ready'; result: string }
  /** It stands in the worktree. */
  | { kind: 'conflict'; conflict: Conflict }
  | { kind: 'broken'; why: string }

/** Verified work that lies in its worktree, whole and alone, and where it is to go. */
export interface Bringing {
  merge: Merge & { head: string; base: string }
  place: Place
  onto: string
  /** It stands on that commit already. */
  isOnTop: boolean
  /** The task in one line, for the message of a commit that we make. */
  title: string
  /** Who commits. */
  who: Record<string, string>
}

/** Puts verified work onto a commit, in the worktree of the task, by the way that the merge asks for. */
export async function bringOnto(work: Bringing): Promise<Brought> {
  const { merge, onto, isOnTop } = work
  if (merge.strategy === 'rebase') return isOnTop ? { kind: 'ready', result: merge.head } : rebase(work)
  if (isOnTop) return asCommit(work, await treeOf(merge.repository, merge.head))
  const merged = await git(work.place.top, ['merge', '--no-commit', '--no-ff', onto], { env: work.who })
  if (merged.ok) return asCommit(work, await ask(work.place.top, ['write-tree']))
  return (await stopped(work.place)) ?? broken('merge', merged.stderr || merged.stdout)
}

async function rebase(work: Bringing): Promise<Brought> {
  const { merge, place, onto } = work
  const args = ['rebase', '--no-stat', '--no-autostash', '--onto', onto, merge.base]
  const rebased = await git(place.top, args, { env: work.who })
  if (!rebased.ok) return (await stopped(place)) ?? broken('rebase', rebased.stderr)
  const result = await ask(place.top, ['rev-parse', '--verify', 'HEAD'])
  return result === undefined ? broken('rebase', 'there is no commit') : { kind: 'ready', result }
}

/** The strategies that make one commit of it: with the target first, as whoever reads the target's history expects. */
async function asCommit(work: Bringing, tree: string | undefined): Promise<Brought> {
  const { merge, place, onto } = work
  if (tree === undefined) return broken('write-tree', 'there is no tree')
  if (merge.strategy === 'merge' && (await isMergeOnto(merge, onto))) return { kind: 'ready', result: merge.head }
  const parents = merge.strategy === 'merge' ? ['-p', onto, '-p', merge.head] : ['-p', onto]
  const made = await git(place.top, ['commit-tree', tree, ...parents, '-F', '-'], {
    env: work.who,
    input: await messageOf(work),
  })
  const result = made.stdout.trim()
  if (!made.ok) return broken('commit-tree', made.stderr)
  // Index and files are as the commit has them; this moves the branch and forgets that a merge stood.
  const moved = await git(place.top, ['reset', '--hard', '--quiet', result])
  return moved.ok ? { kind: 'ready', result } : broken('reset', moved.stderr)
}

/** Its conflict was resolved as a merge of just this commit: that is what was verified. */
async function isMergeOnto({ repository, head }: Bringing['merge'], onto: string): Promise<boolean> {
  const parents = await ask(repository, ['rev-list', '--parents', '-1', head])
  const [, first, second] = (parents ?? '').split(' ')
  return first === onto && second !== undefined
}

async function messageOf({ merge, place, title }: Bringing): Promise<string> {
  if (merge.strategy === 'merge') return `Merge ${merge.branch}: ${title}\n`
  const range = `${merge.base}..${merge.head}`
  const count = Number(await ask(place.top, ['rev-list', '--count', '--no-merges', range]))
  if (count === 1) return (await git(place.top, ['log', '--no-merges', '--format=%B', '-1', range])).stdout
  const subjects = await ask(place.top, [
    'log',
    '--reverse',
    '--no-merges',
    '--format=* %s',
    `--max-count=${MOST}`,
    range,
  ])
  return `${title}\n\n${subjects ?? ''}\n`
}

/** Lines of a message: what nobody reads needs not stand there. */
const MOST = 100

async function stopped(place: Place): Promise<Brought | undefined> {
  if (!(await standingIn(place.top))) return undefined
  const conflict = await conflictIn(place.top)
  return conflict && { kind: 'conflict', conflict }
}

function broken(what: string, said: string): Brought {
  return { kind: 'broken', why: `git ${what} failed: ${said.trim().slice(-500) || 'it said nothing'}` }
}
