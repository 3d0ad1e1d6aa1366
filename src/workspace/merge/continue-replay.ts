import { existsSync } from 'node:fs'
import { quoteForShell } from '../../base/words.ts'
import type { Conflict } from '../../domain/merge.ts'
import type { Worktree } from '../../domain/worktree.ts'
import { dropGitOperation, findGitOperationIn } from '../git/checkout-state.ts'
import { git } from '../git/git.ts'
import { findGitFolder } from '../git/git-folder.ts'
import { committerEnv } from '../git/harden.ts'
import { askGitLine, isAncestorOrSame, readTreeOf } from '../git/refs.ts'
import { isOwnWorktree } from '../worktrees/worktree.ts'
import { forgetReplay, type NotedReplay, readNote, writeNote } from '../worktrees/worktree-note.ts'
import { listUnmerged, readBeginning, readConflict } from './read-conflict.ts'
import { rebaseOnto } from './replay.ts'

/**
 * `none`: there is no rebase or merge of ours to continue. `done`: it is finished, and the branch holds it. `conflict`: a later
 * commit of the rebase conflicts too. `unresolved`: the agent has not resolved everything, and `missing` says in sentences what is left.
 */
export type ContinueResult =
  | { kind: 'none' }
  | { kind: 'done' }
  | { kind: 'conflict'; conflict: Conflict }
  | { kind: 'unresolved'; conflict: Conflict | undefined; missing: string[] }
  | { kind: 'broken'; why: string }

/**
 * Continues the rebase or merge that pcc left in a task's worktree, after its agent has resolved and added the files. Git's own notes
 * about it are not read, because the agent can write them, and `git rebase --continue` runs what they say (`exec`). What counts is
 * our own note: the resolution becomes a commit on the noted tip, and a new rebase applies the rest. An operation that pcc did not
 * begin is left alone; the gates report it.
 */
export async function continueRebase(worktree: Pick<Worktree, 'top' | 'branch'>): Promise<ContinueResult> {
  const { top } = worktree
  const folder = await findGitFolder(top)
  if (!folder || !(await isOwnWorktree({ top, repository: folder.common }))) {
    const why = existsSync(top) ? 'is not the worktree that was made there' : 'is gone'
    return { kind: 'broken', why: `${top} ${why}` }
  }
  const { replay } = await readNote(top)
  if (!replay) return { kind: 'none' }
  if (replay.resolved !== null) return applyRest(worktree, replay, replay.resolved)
  if ((await findGitOperationIn(folder.own))?.kind !== replay.kind) {
    await forgetReplay(top) // somebody has ended it
    return { kind: 'none' }
  }
  const missing = await findUnresolved(top)
  if (missing.length > 0) return { kind: 'unresolved', conflict: await readConflict(top), missing }
  // Changes beside the conflict belong to the work too: they would be thrown away.
  const added = await git(top, ['add', '-A', '.'])
  if (!added.ok) return { kind: 'broken', why: `git add failed: ${added.stderr.trim()}` }
  return concludeStep(worktree, replay)
}

/** Commits the resolution, then applies the rest. The agent may have committed some of it itself. */
async function concludeStep(worktree: Pick<Worktree, 'top' | 'branch'>, replay: NotedReplay): Promise<ContinueResult> {
  const { top, branch } = worktree
  const { kind, tip, stopped } = replay
  const [head, tree] = [await askGitLine(top, ['rev-parse', '--verify', 'HEAD']), await askGitLine(top, ['write-tree'])]
  const begin = kind === 'rebase' ? tip : replay.head
  if (head === undefined || tree === undefined || !(await isAncestorOrSame(top, begin, head)))
    return {
      kind: 'broken',
      why: `${top} is not where the ${kind} stopped: its HEAD does not follow ${begin.slice(0, 12)}`,
    }
  // A commit of which nothing is left is skipped: the target has its changes already.
  const isEmpty = stopped !== null && tree === (await readTreeOf(top, head))
  const made = isEmpty
    ? undefined
    : stopped === null
      ? // The target is the first parent, as in every merge commit made here.
        await commitTree(top, tree, { parents: [tip, head], message: replay.message ?? `Merge ${branch}\n` })
      : await commitTree(top, tree, { parents: [head], ...(await readAuthorship(top, stopped)) })
  if (made && !made.ok) return { kind: 'broken', why: `the ${kind} cannot be concluded: ${made.stderr.trim()}` }
  const resolved = made ? made.stdout.trim() : head
  await writeNote(top, { replay: { ...replay, resolved } })
  return applyRest(worktree, replay, resolved)
}

async function commitTree(
  top: string,
  tree: string,
  { parents, message, env = {} }: { parents: string[]; message: string; env?: Record<string, string> },
) {
  const args = ['commit-tree', tree, ...parents.flatMap(parent => ['-p', parent]), '-F', '-']
  return git(top, args, { env: { ...(await committerEnv(top)), ...env }, input: message })
}

/** Author and message of a commit, for the commit that takes its place. */
async function readAuthorship(top: string, commit: string): Promise<{ message: string; env: Record<string, string> }> {
  const { stdout } = await git(top, ['log', '-1', '--date=raw', '--format=%an%x00%ae%x00%ad%x00%B', commit, '--'])
  const [name = '', email = '', date = '', ...message] = stdout.split('\0')
  const env = { GIT_AUTHOR_NAME: name, GIT_AUTHOR_EMAIL: email, GIT_AUTHOR_DATE: `@${date}` }
  return { message: message.join('').replace(/\n$/, ''), env: name === '' ? {} : env }
}

/** Puts the branch onto the resolution, and the commits after the resolved one on top. May be repeated after a death. */
async function applyRest(
  worktree: Pick<Worktree, 'top' | 'branch'>,
  replay: NotedReplay,
  resolved: string,
): Promise<ContinueResult> {
  const { top, branch } = worktree
  const ref = `refs/heads/${branch}`
  const end = async (result: ContinueResult): Promise<ContinueResult> => {
    if (result.kind !== 'conflict') await forgetReplay(top) // a conflict has a new note
    return result
  }
  const broken = (why: string) =>
    end({ kind: 'broken', why: `${why} (what was resolved is the commit ${resolved.slice(0, 12)})` })
  const tip = await askGitLine(top, ['rev-parse', '--verify', '--quiet', ref])
  // After a death the branch may have moved already; nobody else may have moved it.
  const isMoved = tip !== undefined && tip !== replay.head && (await isAncestorOrSame(top, resolved, tip))
  if (tip !== replay.head && !isMoved) return broken(`${branch} was moved while a ${replay.kind} of it was open`)
  await dropGitOperation(top)
  const on = await git(top, ['symbolic-ref', 'HEAD', ref])
  if (!on.ok) return broken(`${top} cannot go back to ${branch}: ${on.stderr.trim()}`)
  const rest = isMoved || replay.stopped === null ? undefined : await findRest(top, replay, replay.stopped)
  const back = await git(top, ['reset', '--hard', '--quiet', isMoved ? tip : rest ? replay.head : resolved])
  if (!back.ok) return broken(`the ${replay.kind} cannot be concluded: ${back.stderr.trim()}`)
  if (!rest) return end({ kind: 'done' })
  const { head, base } = replay
  const who = await committerEnv(top)
  const rebased = await rebaseOnto(worktree, { head, base, onto: resolved, upstream: rest, who })
  if (rebased.kind === 'broken') return broken(rebased.why)
  return end(rebased.kind === 'ready' ? { kind: 'done' } : rebased)
}

/**
 * A commit that contains every commit of the work that was applied so far, so that a rebase leaves those out; undefined if none is
 * left to apply. That is the resolved commit, unless the work has merge commits: then their other sides were applied too.
 */
async function findRest(top: string, { base, head }: NotedReplay, stopped: string): Promise<string | undefined> {
  const list = async (...args: string[]) =>
    (await askGitLine(top, ['rev-list', '--reverse', '--topo-order', ...args, `${base}..${head}`]))?.split('\n') ?? []
  const commits = await list('--no-merges') // the order of git rebase
  const applied = commits.slice(0, commits.indexOf(stopped) + 1)
  if (applied.length === commits.length) return undefined
  if ((await list('--merges')).length === 0) return stopped
  const tree = (await readTreeOf(top, stopped)) ?? ''
  const made = await commitTree(top, tree, { parents: applied.toReversed(), message: 'applied so far\n' })
  return made.ok ? made.stdout.trim() : stopped
}

async function findUnresolved(top: string): Promise<string[]> {
  const open = await listUnmerged(top)
  const staged = await askGitLine(top, ['diff', '--name-only', '--diff-filter=AM', '--no-renames', '-z', 'HEAD'])
  const changed = (staged ?? '').split('\0').filter(path => path !== '' && !open.has(path))
  const marked = await filesWithMarkers(top, [...open.keys(), ...changed])
  return [
    ...marked.map(path => `${path} still has conflict markers (<<<<<<<, =======, >>>>>>>)`),
    ...[...open.keys()]
      .filter(path => !marked.includes(path))
      .map(path => `${path} is not marked as resolved: git add ${quoteForShell(path)}`),
  ]
}

/** A line of seven signs alone may be a heading: all three markers have to be there, in order. */
const MARKED = /^<{7} .*$[\s\S]*?^={7}$[\s\S]*?^>{7} .*$/m
const MAX_SEARCHED_FILES = 500

async function filesWithMarkers(top: string, paths: readonly string[]): Promise<string[]> {
  const marked: string[] = []
  for (const path of paths.slice(0, MAX_SEARCHED_FILES)) {
    const text = (await readBeginning(top, path)) ?? ''
    // A file that had markers before this work, such as a test of a merge tool, is not in conflict.
    if (MARKED.test(text) && !MARKED.test((await askGitLine(top, ['show', `HEAD:${path}`])) ?? '')) marked.push(path)
  }
  return marked
}
