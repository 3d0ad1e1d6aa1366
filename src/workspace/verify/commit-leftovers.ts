import { existsSync } from 'node:fs'
import { realpath } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { readRegularFile } from '../../base/files.ts'
import { writeInside } from '../../base/real-folder.ts'
import type { Finding } from '../../domain/evidence.ts'
import type { Worktree } from '../../domain/worktree.ts'
import {
  type CheckoutStatus,
  type FreshIndex,
  installIndex,
  isSparse,
  nameWorkTree,
  openFreshIndex,
  readCheckoutStatus,
  readIndexMarks,
} from '../git/checkout-state.ts'
import { git, gitSeries } from '../git/git.ts'
import { type GitFolder, readGitFolder } from '../git/git-folder.ts'
import { committerEnv } from '../git/harden.ts'
import { isOwnWorktree } from '../worktrees/worktree.ts'
import { readGateMadeFiles, readNote } from '../worktrees/worktree-note.ts'
import type { VerifyRequest } from './request.ts'

/** The tree that is verified. Without git it has no id, and nothing can be compared or restored. */
export interface VerifiedTree {
  commit: string | null
  tree: string | null
  folder: GitFolder | undefined
}

export type NamedTree =
  | { ok: true; subject: VerifiedTree }
  | { ok: false; status: 'failed' | 'broken'; finding: Finding }

/** Gives the work an id: in a worktree a commit on its branch; in the project itself only the id of its tree. */
export async function nameVerifiedTree({ worktree, directory, task }: VerifyRequest): Promise<NamedTree> {
  if (worktree) {
    const done = await commitLeftovers(worktree, task.title)
    if (!done.ok) return { ok: false, status: done.weight, finding: done.finding }
    return { ok: true, subject: { commit: done.commit, tree: done.tree, folder: done.folder } }
  }
  const folder = await readGitFolder(directory)
  if (!folder) return { ok: true, subject: { commit: null, tree: null, folder: undefined } }
  const tree = typeof folder === 'string' ? undefined : await nameWorkTree(folder)
  if (tree !== undefined && typeof folder !== 'string') return { ok: true, subject: { commit: null, tree, folder } }
  const why = typeof folder === 'string' ? folder : 'look at it with git status.'
  const text = `git cannot write a tree of ${directory}: ${why}`
  return { ok: false, status: 'broken', finding: { code: 'git.broken', weight: 'block', text } }
}

/** A committed tree, or why there is none to verify. */
export type CommittedTree = { ok: true; commit: string; tree: string; folder: GitFolder } | UnverifiableTree

/**
 * Commits what the agent left uncommitted to the branch of its worktree, so that the verified work has an id and nothing is lost.
 * Our own note about the task is never part of it, nor are files that only a gate's command made.
 */
export async function commitLeftovers(worktree: Worktree, title = worktree.task): Promise<CommittedTree> {
  const folder = await readGitFolder(worktree.top)
  if (typeof folder === 'string')
    return brokenTree(`${worktree.top} is no longer its own git worktree: ${folder}`, 'git.shared')
  if (folder?.top !== worktree.top) return brokenTree(`${worktree.top} is no longer a git worktree.`)
  // Git would commit in that other repository.
  if (!(await isOwnWorktree({ top: worktree.top, repository: folder.common })))
    return brokenTree(`${worktree.top} points to another repository, ${folder.common}: restore its .git.`, 'git.shared')
  const status = await readCheckoutStatus(worktree.top, 'all')
  if (typeof status === 'string') return brokenTree(status)
  const unfinished = await findUnfinishedWork(worktree, folder, status)
  if (unfinished) return unfinished
  const hidden = await revealHiddenFiles(folder)
  await using index = await openFreshIndex(folder)
  const [staged, committer] = await Promise.all([
    hidden ?? index.problem ?? stageLeftovers(worktree, index, status),
    committerEnv(worktree.top),
  ])
  if (typeof staged === 'string') return brokenTree(`The work in ${worktree.top} could not be staged: ${staged}`)
  const { tree, head } = staged
  const [commit = '', treeBefore = '', top] = head.trim().split('\n')
  // Settings of a worktree can make git use another directory than the one in which commands run.
  if (top !== (await realpath(worktree.top)))
    return brokenTree(`git works on the files of ${top} instead of ${worktree.top}.`)
  if (!(await installIndex(folder.own, index.file))) return brokenTree(`git has no index of ${worktree.top}.`)
  if (tree === treeBefore) return { ok: true, commit, tree, folder }
  const message = `${title}\n\nLeft uncommitted by the agent of ${worktree.task}, attempt ${worktree.attempt}.`
  const made = await commitTree(worktree.top, { tree, parent: commit, message, committer })
  if ('problem' in made) return brokenTree(`git could not commit in ${worktree.top}: ${made.problem}`)
  return { ok: true, commit: made.commit, tree, folder }
}

interface NewCommit {
  tree: string
  parent: string
  message: string
  /** Variables that name the committer. */
  committer: Record<string, string>
}

/** Commits a tree on the branch that is checked out, without the files that `git commit` writes and reads beside the commit. */
async function commitTree(
  top: string,
  { tree, parent, message, committer: env }: NewCommit,
): Promise<{ commit: string } | { problem: string }> {
  const [subject = ''] = message.split('\n')
  const made = await gitSeries(
    top,
    outputOf => [
      ['commit-tree', tree, '-p', parent, '-F', '-'],
      ['update-ref', '-m', `commit: ${subject}`, 'HEAD', outputOf(0), parent],
    ],
    { env, input: `${message.trim()}\n` },
  )
  return made.ok ? { commit: made.outputs[0]?.trim() ?? '' } : { problem: made.stderr.trim() }
}

interface StagedWork {
  tree: string
  /** The commit that is checked out, its tree, and the directory whose files were staged, in lines. */
  head: string
}

/** Stages everything that belongs in the commit, and writes its tree; returns the problem where that fails. */
async function stageLeftovers(
  worktree: Worktree,
  { env }: FreshIndex,
  { untracked }: CheckoutStatus,
): Promise<StagedWork | string> {
  const { top } = worktree
  const notes = ownNotes(worktree)
  const made = await readGateMadeFiles(top)
  // Files that the person ignores everywhere (`.DS_Store`) are no work, and not listed: every git here knows their list.
  const mine = untracked.filter(path => !notes.includes(path) && !made.has(path))
  const staged = await gitSeries(
    top,
    () => [
      ['rev-parse', 'HEAD^{commit}', 'HEAD^{tree}', '--show-toplevel'],
      ['add', '--update', '--', '.'],
      ['ls-files', '--cached', '-z', '--', ...notes],
      ...(mine.length > 0 ? [['add', '--pathspec-from-file=-', '--pathspec-file-nul']] : []),
      ['write-tree'],
    ],
    { env, input: mine.join('\0') },
  )
  if (!staged.ok) return staged.stderr.trim()
  const [head = '', , noted, ...rest] = staged.outputs
  const work = { head, tree: rest.at(-1)?.trim() ?? '' }
  // An agent may have added our note by force, or in its own commit. A project may have one that is not ours.
  if (noted === '') return work
  const base = await git(top, ['ls-tree', '--name-only', '-z', worktree.base, '--', ...notes])
  const ours = notes.filter(note => !base.stdout.split('\0').includes(note))
  if (ours.length === 0) return work
  const remove = ['rm', '--cached', '--quiet', '--ignore-unmatch', '--', ...ours]
  const without = await gitSeries(top, () => [remove, ['write-tree']], { env })
  return without.ok ? { head, tree: without.outputs[1]?.trim() ?? '' } : without.stderr.trim()
}

/** The paths of our note about the task, from the top. */
function ownNotes({ top, directory }: Worktree): string[] {
  const inside = relative(top, directory)
  const note = '.perpetualcc/task.json'
  return [...new Set([note, inside === '' ? note : `${inside}/${note}`])]
}

function brokenTree(text: string, code = 'git.broken'): UnverifiableTree {
  return { ok: false, weight: 'broken', finding: { code, weight: 'block', text } }
}

/** Why there is no tree to verify. `failed`: the agent can fix it. `broken`: a person has to look. */
interface UnverifiableTree {
  ok: false
  weight: 'failed' | 'broken'
  finding: Finding
}

/** Files that exist while git is in the middle of an operation. */
const UNFINISHED_FILES: Record<string, string> = {
  'rebase-merge': 'a rebase',
  'rebase-apply': 'a rebase',
  MERGE_HEAD: 'a merge',
  CHERRY_PICK_HEAD: 'a cherry-pick',
  REVERT_HEAD: 'a revert',
}

/**
 * Why the work in a worktree cannot be committed yet: unresolved conflicts, an unfinished git operation, or another branch. If the
 * agent left its branch and HEAD is ahead of it, the branch is moved there and checked out again.
 */
async function findUnfinishedWork(
  worktree: Worktree,
  { own }: GitFolder,
  { branch, conflicts }: CheckoutStatus,
): Promise<UnverifiableTree | undefined> {
  if (conflicts.length > 0) {
    const some = conflicts.slice(0, 20).join(', ')
    return unfinishedTree('git.conflict', `There are unresolved conflicts: ${some}. Edit the files, then git add them.`)
  }
  const middle = Object.keys(UNFINISHED_FILES).find(name => existsSync(join(own, name)))
  if (middle !== undefined)
    return unfinishedTree('git.unfinished', `git is in the middle of ${UNFINISHED_FILES[middle]} here.`)
  return branch === worktree.branch ? undefined : returnToBranch(worktree)
}

async function returnToBranch({ top, branch }: Worktree): Promise<UnverifiableTree | undefined> {
  const ref = `refs/heads/${branch}`
  const [here, tip] = await Promise.all([
    git(top, ['rev-parse', '--verify', '--quiet', 'HEAD^{commit}']),
    git(top, ['rev-parse', '--verify', '--quiet', `${ref}^{commit}`]),
  ])
  const follows = tip.ok ? await git(top, ['merge-base', '--is-ancestor', tip.stdout.trim(), 'HEAD']) : here
  if (!here.ok || !follows.ok) {
    const text = `${top} is not on its branch ${branch}, and its HEAD does not descend from it.`
    return { ok: false, weight: 'broken', finding: { code: 'git.branch', weight: 'block', text } }
  }
  await git(top, ['update-ref', ref, here.stdout.trim(), ...(tip.ok ? [tip.stdout.trim()] : [])])
  await git(top, ['symbolic-ref', 'HEAD', ref])
  return undefined
}

function unfinishedTree(code: string, text: string): UnverifiableTree {
  return { ok: false, weight: 'failed', finding: { code, weight: 'block', text } }
}

/**
 * Makes git see files again that are marked as unchanged or as not checked out: commands run on the files on disk, and those have
 * to be committed. In a sparse checkout, files that were left out when it was made stay so. Returns the problem where that fails.
 */
async function revealHiddenFiles({ top, own }: GitFolder): Promise<string | undefined> {
  const marks = await readIndexMarks(top, own)
  if (!marks) return 'git cannot tell which files are hidden from it'
  if (marks.unseen.length === 0) return undefined
  const input = marks.unseen.join('\0')
  const from = ['-z', '--stdin']
  const seen = await git(top, ['update-index', '--no-assume-unchanged', ...from], { input })
  if (!seen.ok) return seen.stderr.trim()
  if (await isSparse(top)) return restoreSparseCheckout({ top, own })
  const back = await git(top, ['update-index', '--no-skip-worktree', ...from], { input })
  return back.ok ? undefined : back.stderr.trim()
}

/**
 * Restores the sparse-checkout patterns: files that an agent leaves out of its checkout, such as failing tests, would be left out
 * of the gates too. Files that were left out when the worktree was made are legitimate, and git itself sees those that exist
 * anyway.
 */
async function restoreSparseCheckout({ top, own }: Pick<GitFolder, 'top' | 'own'>): Promise<string | undefined> {
  const { sparse, shared } = await readNote(top)
  if (shared === undefined) return undefined // it is not known how the worktree was made
  const file = join(own, 'info', 'sparse-checkout')
  const isSame = sparse !== null && (await readRegularFile(file).catch(() => '')).toString() === sparse
  if (sparse !== null && !isSame && !(await writeInside(own, 'info/sparse-checkout', sparse)))
    return `${file} is behind a link`
  // Also with the same patterns: a file that they include may be marked as left out.
  const back = await git(top, ['sparse-checkout', sparse === null ? 'disable' : 'reapply'])
  return back.ok ? undefined : back.stderr.trim()
}
