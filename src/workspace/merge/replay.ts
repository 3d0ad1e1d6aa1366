import { unreachable } from '../../base/errors.ts'
import type { Conflict, Merge } from '../../domain/merge.ts'
import type { MergeStrategy } from '../../domain/option-values.ts'
import type { Worktree } from '../../domain/worktree.ts'
import { dropGitOperation, findGitOperation } from '../git/checkout-state.ts'
import { git } from '../git/git.ts'
import { askGitLine, readTreeOf } from '../git/refs.ts'
import { forgetReplay, type NotedReplay, writeNote } from '../worktrees/worktree-note.ts'
import { readConflict } from './read-conflict.ts'

export type ReplayResult =
  | { kind: 'ready'; result: string }
  /** The unfinished rebase or merge is in the worktree. */
  | { kind: 'conflict'; conflict: Conflict }
  | { kind: 'broken'; why: string }

/** Verified work, with nothing missing and nothing else in its worktree, and the commit that it is put onto. */
export interface ReplayRequest {
  merge: Merge & { head: string; base: string }
  worktree: Worktree
  onto: string
  /** The work is already on top of that commit. */
  isOnTop: boolean
  /** The task in one line, for the message of a commit made here. */
  title: string
  /** The committer, as environment variables for git. */
  who: Record<string, string>
}

/**
 * Puts verified work onto a commit, in the worktree of the task, with the strategy of the merge. Commits of a merge are made here, and after a
 * conflict in continue-replay.ts.
 */
export async function replayOnto(work: ReplayRequest): Promise<ReplayResult> {
  const { merge, worktree, onto, isOnTop, who } = work
  const { head, base } = merge
  await forgetReplay(worktree.top)
  // Notes that an agent put into git's folder would steer the git that starts now.
  await dropGitOperation(worktree.top)
  if (formOf(merge.strategy) === 'own commits')
    return isOnTop ? { kind: 'ready', result: head } : rebaseOnto(worktree, { head, base, onto, upstream: base, who })
  if (isOnTop) return makeCommit(work, await readTreeOf(merge.repository, head))
  const merged = await git(worktree.top, ['merge', '--no-commit', '--no-ff', onto], { env: who })
  if (merged.ok) return makeCommit(work, await askGitLine(worktree.top, ['write-tree']))
  const stop = { kind: 'merge', head, base, tip: onto, stopped: null, message: mergeMessage(work) } as const
  return (await noteConflict(worktree, stop)) ?? brokenReplay('merge', merged.stderr || merged.stdout)
}

/** In which form the target gets the work: the commits of its branch, a merge of them, or one commit without them. */
export function formOf(strategy: MergeStrategy): 'own commits' | 'merge' | 'one commit' {
  switch (strategy) {
    case 'rebase':
      return 'own commits'
    case 'merge':
      return 'merge'
    case 'squash':
      return 'one commit'
    default:
      return unreachable(strategy)
  }
}

/** Whether the target gets the verified commit itself; otherwise it gets other commits with the same content. */
export function landsVerifiedCommit(strategy: MergeStrategy): boolean {
  switch (strategy) {
    case 'merge':
      return true
    case 'rebase':
    case 'squash':
      return false
    default:
      return unreachable(strategy)
  }
}

export interface RebaseRequest {
  /** All of the work: its last commit, which is checked out on its branch, and the commit after which it begins. */
  head: string
  base: string
  onto: string
  /** Commits that this one contains are not applied. */
  upstream: string
  who: Record<string, string>
}

/** Rebases the work that is checked out in a worktree, and notes where it stops. It is never continued by git (continue-replay.ts). */
export async function rebaseOnto(
  worktree: Pick<Worktree, 'top'>,
  { head, base, onto, upstream, who }: RebaseRequest,
): Promise<ReplayResult> {
  const { top } = worktree
  const rebased = await git(top, ['rebase', '--no-stat', '--no-autostash', '--onto', onto, upstream], { env: who })
  const tip = await askGitLine(top, ['rev-parse', '--verify', 'HEAD'])
  if (tip === undefined) return brokenReplay('rebase', 'there is no commit')
  if (rebased.ok) return { kind: 'ready', result: tip }
  const stopped = (await askGitLine(top, ['rev-parse', '--verify', '--quiet', 'REBASE_HEAD'])) ?? null
  const conflict = stopped && (await noteConflict(worktree, { kind: 'rebase', head, base, tip, stopped }))
  return conflict || brokenReplay('rebase', rebased.stderr)
}

/** Makes one commit of the work, for `merge` and `squash`: the target is the first parent, as readers of its history expect. */
async function makeCommit(work: ReplayRequest, tree: string | undefined): Promise<ReplayResult> {
  const { merge, worktree, onto } = work
  if (tree === undefined) return brokenReplay('write-tree', 'there is no tree')
  const isMerge = formOf(merge.strategy) === 'merge'
  if (isMerge && (await isMergeOnto(merge, onto))) return { kind: 'ready', result: merge.head }
  const parents = isMerge ? ['-p', onto, '-p', merge.head] : ['-p', onto]
  const made = await git(worktree.top, ['commit-tree', tree, ...parents, '-F', '-'], {
    env: work.who,
    input: await commitMessage(work),
  })
  const result = made.stdout.trim()
  if (!made.ok) return brokenReplay('commit-tree', made.stderr)
  // Index and files already match the commit; this moves the branch and ends the merge.
  const moved = await git(worktree.top, ['reset', '--hard', '--quiet', result])
  return moved.ok ? { kind: 'ready', result } : brokenReplay('reset', moved.stderr)
}

/** Whether the conflict was resolved as a merge with exactly this commit: that merge is what was verified. */
async function isMergeOnto({ repository, head }: ReplayRequest['merge'], onto: string): Promise<boolean> {
  const parents = await askGitLine(repository, ['rev-list', '--parents', '-1', head])
  const [, first, second] = (parents ?? '').split(' ')
  return first === onto && second !== undefined
}

/** The message of a merge commit. A merge resolved by the agent gets it from the note, and its commit is not made again (`isMergeOnto`). */
function mergeMessage({ merge, title }: Pick<ReplayRequest, 'merge' | 'title'>): string {
  return `Merge ${merge.branch}: ${title}\n`
}

/** A squash of one commit keeps the message of that commit. */
async function commitMessage({ merge, worktree, title }: ReplayRequest): Promise<string> {
  if (formOf(merge.strategy) === 'merge') return mergeMessage({ merge, title })
  const range = `${merge.base}..${merge.head}`
  const count = Number(await askGitLine(worktree.top, ['rev-list', '--count', '--no-merges', range]))
  if (count === 1) return (await git(worktree.top, ['log', '--no-merges', '--format=%B', '-1', range])).stdout
  const subjects = await askGitLine(worktree.top, [
    'log',
    '--reverse',
    '--no-merges',
    '--format=* %s',
    `--max-count=${MAX_SUBJECTS}`,
    range,
  ])
  return `${title}\n\n${subjects ?? ''}\n`
}

/** Most subjects that are listed in a commit message. */
const MAX_SUBJECTS = 100

/** Notes where our own git has just stopped, before an agent gets the worktree; undefined if there is no conflict. */
async function noteConflict(
  { top }: Pick<Worktree, 'top'>,
  stop: Omit<NotedReplay, 'resolved'>,
): Promise<ReplayResult | undefined> {
  if (!(await findGitOperation(top))) return undefined
  const conflict = await readConflict(top)
  if (!conflict) return undefined
  await writeNote(top, { replay: { ...stop, resolved: null } })
  return { kind: 'conflict', conflict }
}

function brokenReplay(command: string, output: string): ReplayResult {
  return { kind: 'broken', why: `git ${command} failed: ${output.trim().slice(-500) || 'it said nothing'}` }
}
