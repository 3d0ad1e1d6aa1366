import { constants } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Conflict, ConflictedFile, Merge } from '../../domain/merge.ts'
import type { Worktree } from '../../domain/worktree.ts'
import { findGitOperation, findGitOperationIn } from '../git/checkout-state.ts'
import { git } from '../git/git.ts'
import { findGitFolder } from '../git/git-folder.ts'
import { committerEnv } from '../git/harden.ts'
import { askGitLine, readTreeOf } from '../git/refs.ts'
import { isOwnWorktree } from '../worktrees/worktree.ts'

export type ReplayResult =
  | { kind: 'ready'; result: string }
  /** The unfinished rebase or merge is in the worktree. */
  | { kind: 'conflict'; conflict: Conflict }
  | { kind: 'broken'; why: string }

/** Verified work, complete and unmixed in its worktree, and the commit that it is put onto. */
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

/** Puts verified work onto a commit, in the worktree of the task, with the strategy of the merge. */
export async function replayOnto(work: ReplayRequest): Promise<ReplayResult> {
  const { merge, onto, isOnTop } = work
  if (merge.strategy === 'rebase') return isOnTop ? { kind: 'ready', result: merge.head } : rebase(work)
  if (isOnTop) return makeCommit(work, await readTreeOf(merge.repository, merge.head))
  const merged = await git(work.worktree.top, ['merge', '--no-commit', '--no-ff', onto], { env: work.who })
  if (merged.ok) return makeCommit(work, await askGitLine(work.worktree.top, ['write-tree']))
  return (await readReplayConflict(work.worktree)) ?? brokenReplay('merge', merged.stderr || merged.stdout)
}

async function rebase(work: ReplayRequest): Promise<ReplayResult> {
  const { merge, worktree, onto } = work
  const args = ['rebase', '--no-stat', '--no-autostash', '--onto', onto, merge.base]
  const rebased = await git(worktree.top, args, { env: work.who })
  if (!rebased.ok) return (await readReplayConflict(worktree)) ?? brokenReplay('rebase', rebased.stderr)
  const result = await askGitLine(worktree.top, ['rev-parse', '--verify', 'HEAD'])
  return result === undefined ? brokenReplay('rebase', 'there is no commit') : { kind: 'ready', result }
}

/** Makes one commit of the work, for `merge` and `squash`: the target is the first parent, as readers of its history expect. */
async function makeCommit(work: ReplayRequest, tree: string | undefined): Promise<ReplayResult> {
  const { merge, worktree, onto } = work
  if (tree === undefined) return brokenReplay('write-tree', 'there is no tree')
  if (merge.strategy === 'merge' && (await isMergeOnto(merge, onto))) return { kind: 'ready', result: merge.head }
  const parents = merge.strategy === 'merge' ? ['-p', onto, '-p', merge.head] : ['-p', onto]
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

async function commitMessage({ merge, worktree, title }: ReplayRequest): Promise<string> {
  if (merge.strategy === 'merge') return `Merge ${merge.branch}: ${title}\n`
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

async function readReplayConflict(worktree: Worktree): Promise<ReplayResult | undefined> {
  if (!(await findGitOperation(worktree.top))) return undefined
  const conflict = await readConflict(worktree.top)
  return conflict && { kind: 'conflict', conflict }
}

function brokenReplay(command: string, output: string): ReplayResult {
  return { kind: 'broken', why: `git ${command} failed: ${output.trim().slice(-500) || 'it said nothing'}` }
}

/**
 * `none`: there is no rebase or merge to continue. `done`: it is finished, and the branch holds it. `conflict`: a later commit of
 * the rebase conflicts too. `unresolved`: the agent has not resolved everything, and `missing` says in sentences what is left.
 */
export type ContinueResult =
  | { kind: 'none' }
  | { kind: 'done' }
  | { kind: 'conflict'; conflict: Conflict }
  | { kind: 'unresolved'; conflict: Conflict | undefined; missing: string[] }
  | { kind: 'broken'; why: string }

/** A rebase of more commits than this was not left by an agent. */
const MOST_STEPS = 1_000

/** Continues the rebase or merge that was left in a task's worktree, after its agent has resolved and added the files. */
export async function continueRebase(worktree: Pick<Worktree, 'top' | 'branch'>): Promise<ContinueResult> {
  const folder = await findGitFolder(worktree.top)
  if (!folder || !(await isOwnWorktree({ top: worktree.top, repository: folder.common }))) {
    return { kind: 'broken', why: `${worktree.top} is not the worktree that was made there` }
  }
  const standing = await findGitOperationIn(folder.own)
  if (standing?.kind !== 'rebase' && standing?.kind !== 'merge') return { kind: 'none' }
  const missing = await findUnresolved(worktree.top)
  if (missing.length > 0) return { kind: 'unresolved', conflict: await readConflict(worktree.top), missing }
  // Changes beside the conflict belong to the work too: git would refuse to continue over them, or throw them away.
  const added = await git(worktree.top, ['add', '-A', '.'])
  if (!added.ok) return { kind: 'broken', why: `git add failed: ${added.stderr.trim()}` }
  return standing.kind === 'rebase' ? continueSteps(worktree) : concludeMerge(worktree)
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
      .map(path => `${path} is not marked as resolved: git add ${path}`),
  ]
}

/** A line of seven signs alone may be a heading: all three markers have to be there, in order. */
const MARKED = /^<{7} .*$[\s\S]*?^={7}$[\s\S]*?^>{7} .*$/m
const MAX_SEARCHED_FILES = 500

async function filesWithMarkers(top: string, paths: readonly string[]): Promise<string[]> {
  const marked: string[] = []
  for (const path of paths.slice(0, MAX_SEARCHED_FILES)) {
    const text = await readFile(join(top, path), 'latin1').catch(() => '')
    // A file that had markers before this work, such as a test of a merge tool, is not in conflict.
    if (MARKED.test(text) && !MARKED.test((await askGitLine(top, ['show', `HEAD:${path}`])) ?? '')) marked.push(path)
  }
  return marked
}

async function continueSteps(worktree: Pick<Worktree, 'top' | 'branch'>): Promise<ContinueResult> {
  const env = await committerEnv(worktree.top)
  for (let step = 0; step < MOST_STEPS; step += 1) {
    // A commit that has become empty is skipped: the target has its changes already.
    const isEmpty = (await git(worktree.top, ['diff', '--cached', '--quiet', 'HEAD'])).ok
    const hasStopped =
      (await askGitLine(worktree.top, ['rev-parse', '--verify', '--quiet', 'REBASE_HEAD'])) !== undefined
    const args = isEmpty && hasStopped ? ['rebase', '--skip'] : ['rebase', '--continue']
    const continued = await git(worktree.top, args, { env })
    if ((await findGitOperation(worktree.top))?.kind !== 'rebase') {
      return continued.ok
        ? checkBranch(worktree)
        : { kind: 'broken', why: `git rebase failed: ${continued.stderr.trim().slice(-500)}` }
    }
    const conflict = await readConflict(worktree.top)
    if (conflict) return { kind: 'conflict', conflict }
    if (!continued.ok && !isEmpty && (await isStuck(worktree.top))) {
      return { kind: 'broken', why: `git rebase does not go on: ${continued.stderr.trim().slice(-500)}` }
    }
  }
  return { kind: 'broken', why: `the rebase did not end after ${MOST_STEPS} steps` }
}

/** Nothing can be skipped and nothing is in conflict: trying again would loop for ever. */
async function isStuck(top: string): Promise<boolean> {
  return !(await git(top, ['diff', '--cached', '--quiet', 'HEAD'])).ok
}

async function checkBranch({ top, branch }: Pick<Worktree, 'top' | 'branch'>): Promise<ContinueResult> {
  const head = await askGitLine(top, ['symbolic-ref', '--quiet', 'HEAD'])
  if (head === `refs/heads/${branch}`) return { kind: 'done' }
  return { kind: 'broken', why: `after the rebase ${top} is not on ${branch}` }
}

/** The target is the first parent, as in every merge commit made here. */
async function concludeMerge(worktree: Pick<Worktree, 'top' | 'branch'>): Promise<ContinueResult> {
  const own = (await findGitFolder(worktree.top))?.own ?? ''
  const other = (await readFile(join(own, 'MERGE_HEAD'), 'utf8').catch(() => '')).split('\n')[0] ?? ''
  const tree = await askGitLine(worktree.top, ['write-tree'])
  if (tree === undefined || other === '') return { kind: 'broken', why: 'the merge cannot be concluded' }
  const args = ['commit-tree', tree, '-p', other, '-p', 'HEAD', '-m', `Merge ${worktree.branch}: conflicts resolved`]
  const made = await git(worktree.top, args, { env: await committerEnv(worktree.top) })
  const moved = made.ok && (await git(worktree.top, ['reset', '--hard', '--quiet', made.stdout.trim()])).ok
  return moved ? checkBranch(worktree) : { kind: 'broken', why: `the merge cannot be concluded: ${made.stderr.trim()}` }
}

/** How much of a conflict a conversation is shown: the agent can read the files themselves. */
const MAX_CONFLICT_FILES = 20
const MOST_OF_A_FILE = 4_000
const MOST_IN_ALL = 24_000
/** How much of a file is searched for markers. */
const MOST_BYTES = 2_000_000
const LINES_AROUND = 3

/** The conflict of the unfinished rebase or merge in a checkout; undefined where no file is unmerged. */
async function readConflict(top: string): Promise<Conflict | undefined> {
  const open = await listUnmerged(top)
  if (open.size === 0) return undefined
  const kind = (await findGitOperation(top))?.kind === 'rebase' ? 'rebase' : 'merge'
  const commit =
    kind === 'rebase' ? ((await askGitLine(top, ['log', '-1', '--format=%s', 'REBASE_HEAD'])) ?? null) : null
  const files: ConflictedFile[] = []
  let left = MOST_IN_ALL
  for (const [path, stages] of [...open].slice(0, MAX_CONFLICT_FILES)) {
    const hunks = await readHunks(join(top, path), Math.min(MOST_OF_A_FILE, left))
    left -= hunks.length
    files.push({ path, what: describeStages(stages, kind), hunks })
  }
  return { kind, files, count: open.size, commit }
}

/** Unmerged paths, with the stages of the index in which each exists: 1 is the common ancestor, 2 and 3 are the two sides. */
async function listUnmerged(top: string): Promise<Map<string, Set<number>>> {
  const { stdout } = await git(top, ['ls-files', '--unmerged', '-z'])
  const open = new Map<string, Set<number>>()
  for (const line of stdout.split('\0')) {
    const match = /^\d+ [0-9a-f]+ ([123])\t([\s\S]+)$/.exec(line)
    const [stage, path] = [Number(match?.[1]), match?.[2]]
    if (path !== undefined) open.set(path, (open.get(path) ?? new Set()).add(stage))
  }
  return open
}

/** In a rebase the second side is the target and the third the work; in a merge of the target it is the other way round. */
function describeStages(stages: ReadonlySet<number>, kind: Conflict['kind']): string {
  const [target, work] = kind === 'rebase' ? [2, 3] : [3, 2]
  if (stages.has(2) && stages.has(3)) return stages.has(1) ? 'changed on both sides' : 'added on both sides'
  if (stages.has(target)) return 'changed in the target, deleted or moved by this task'
  if (stages.has(work)) return 'changed by this task, deleted or moved in the target'
  return 'deleted or moved on both sides'
}

async function readHunks(file: string, most: number): Promise<string> {
  const lines = (await readBeginning(file))?.split('\n')
  if (!lines) return ''
  const shown = new Set<number>()
  let from: number | undefined
  for (const [index, line] of lines.entries()) {
    if (line.startsWith('<<<<<<< ')) from = index
    if (from === undefined || !line.startsWith('>>>>>>> ')) continue
    for (let near = from - LINES_AROUND; near <= index + LINES_AROUND; near += 1) shown.add(near)
    from = undefined
  }
  let text = ''
  let last = -1
  for (const [index, line] of lines.entries()) {
    if (!shown.has(index)) continue
    const more = `${last >= 0 && index > last + 1 ? '…\n' : ''}${line}\n`
    if (text.length + more.length > most) return `${text}… (more in the file)\n`
    text += more
    last = index
  }
  return text
}

/** Undefined for a file that is missing or is not text. */
async function readBeginning(file: string): Promise<string | undefined> {
  try {
    await using handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(MOST_BYTES), 0, MOST_BYTES, 0)
    const bytes = buffer.subarray(0, bytesRead)
    return bytes.includes(0) ? undefined : bytes.toString()
  } catch {
    return undefined
  }
}
