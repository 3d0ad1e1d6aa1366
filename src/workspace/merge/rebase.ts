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
  /** It stands in the worktree. */
  | { kind: 'conflict'; conflict: Conflict }
  | { kind: 'broken'; why: string }

/** Verified work that lies in its worktree, whole and alone, and where it is to go. */
export interface ReplayRequest {
  merge: Merge & { head: string; base: string }
  place: Worktree
  onto: string
  /** It stands on that commit already. */
  isOnTop: boolean
  /** The task in one line, for the message of a commit that we make. */
  title: string
  /** Who commits. */
  who: Record<string, string>
}

/** Puts verified work onto a commit, in the worktree of the task, by the way that the merge asks for. */
export async function replayOnto(work: ReplayRequest): Promise<ReplayResult> {
  const { merge, onto, isOnTop } = work
  if (merge.strategy === 'rebase') return isOnTop ? { kind: 'ready', result: merge.head } : rebase(work)
  if (isOnTop) return asCommit(work, await readTreeOf(merge.repository, merge.head))
  const merged = await git(work.place.top, ['merge', '--no-commit', '--no-ff', onto], { env: work.who })
  if (merged.ok) return asCommit(work, await askGitLine(work.place.top, ['write-tree']))
  return (await conflictAfter(work.place)) ?? brokenReplay('merge', merged.stderr || merged.stdout)
}

async function rebase(work: ReplayRequest): Promise<ReplayResult> {
  const { merge, place, onto } = work
  const args = ['rebase', '--no-stat', '--no-autostash', '--onto', onto, merge.base]
  const rebased = await git(place.top, args, { env: work.who })
  if (!rebased.ok) return (await conflictAfter(place)) ?? brokenReplay('rebase', rebased.stderr)
  const result = await askGitLine(place.top, ['rev-parse', '--verify', 'HEAD'])
  return result === undefined ? brokenReplay('rebase', 'there is no commit') : { kind: 'ready', result }
}

/** The strategies that make one commit of it: with the target first, as whoever reads the target's history expects. */
async function asCommit(work: ReplayRequest, tree: string | undefined): Promise<ReplayResult> {
  const { merge, place, onto } = work
  if (tree === undefined) return brokenReplay('write-tree', 'there is no tree')
  if (merge.strategy === 'merge' && (await isMergeOnto(merge, onto))) return { kind: 'ready', result: merge.head }
  const parents = merge.strategy === 'merge' ? ['-p', onto, '-p', merge.head] : ['-p', onto]
  const made = await git(place.top, ['commit-tree', tree, ...parents, '-F', '-'], {
    env: work.who,
    input: await commitMessage(work),
  })
  const result = made.stdout.trim()
  if (!made.ok) return brokenReplay('commit-tree', made.stderr)
  // Index and files are as the commit has them; this moves the branch and forgets that a merge stood.
  const moved = await git(place.top, ['reset', '--hard', '--quiet', result])
  return moved.ok ? { kind: 'ready', result } : brokenReplay('reset', moved.stderr)
}

/** Its conflict was resolved as a merge of just this commit: that is what was verified. */
async function isMergeOnto({ repository, head }: ReplayRequest['merge'], onto: string): Promise<boolean> {
  const parents = await askGitLine(repository, ['rev-list', '--parents', '-1', head])
  const [, first, second] = (parents ?? '').split(' ')
  return first === onto && second !== undefined
}

async function commitMessage({ merge, place, title }: ReplayRequest): Promise<string> {
  if (merge.strategy === 'merge') return `Merge ${merge.branch}: ${title}\n`
  const range = `${merge.base}..${merge.head}`
  const count = Number(await askGitLine(place.top, ['rev-list', '--count', '--no-merges', range]))
  if (count === 1) return (await git(place.top, ['log', '--no-merges', '--format=%B', '-1', range])).stdout
  const subjects = await askGitLine(place.top, [
    'log',
    '--reverse',
    '--no-merges',
    '--format=* %s',
    `--max-count=${MAX_SUBJECTS}`,
    range,
  ])
  return `${title}\n\n${subjects ?? ''}\n`
}

/** Lines of a message: what nobody reads needs not stand there. */
const MAX_SUBJECTS = 100

async function conflictAfter(place: Worktree): Promise<ReplayResult | undefined> {
  if (!(await findGitOperation(place.top))) return undefined
  const conflict = await readConflict(place.top)
  return conflict && { kind: 'conflict', conflict }
}

function brokenReplay(what: string, said: string): ReplayResult {
  return { kind: 'broken', why: `git ${what} failed: ${said.trim().slice(-500) || 'it said nothing'}` }
}

/**
 * `none`: nothing stands. `done`: it stood and is finished, the branch holds it. `conflict`: the next commit of the rebase could
 * not be brought over either. `unresolved`: what was given back is not finished, and `missing` says in sentences what is.
 */
export type ContinueResult =
  | { kind: 'none' | 'done' }
  | { kind: 'conflict'; conflict: Conflict }
  | { kind: 'unresolved'; conflict: Conflict | undefined; missing: string[] }
  | { kind: 'broken'; why: string }

/** A rebase of more commits than that is not one that an agent left. */
const MOST_STEPS = 1_000

/** Goes on with the rebase or merge that was left in a task's worktree, after its agent has edited and added. */
export async function continueRebase(place: Pick<Worktree, 'top' | 'branch'>): Promise<ContinueResult> {
  const folder = await findGitFolder(place.top)
  if (!folder || !(await isOwnWorktree({ top: place.top, repository: folder.common }))) {
    return { kind: 'broken', why: `${place.top} is not the worktree that was made there` }
  }
  const standing = await findGitOperationIn(folder.own)
  if (standing?.kind !== 'rebase' && standing?.kind !== 'merge') return { kind: 'none' }
  const missing = await findUnresolved(place.top)
  if (missing.length > 0) return { kind: 'unresolved', conflict: await readConflict(place.top), missing }
  // What it changed beside the conflict belongs to its work: git would refuse to go on over it, or throw it away.
  const added = await git(place.top, ['add', '-A', '.'])
  if (!added.ok) return { kind: 'broken', why: `git add failed: ${added.stderr.trim()}` }
  return standing.kind === 'rebase' ? continueSteps(place) : concludeMerge(place)
}

async function findUnresolved(top: string): Promise<string[]> {
  const open = await listUnmerged(top)
  const staged = await askGitLine(top, ['diff', '--name-only', '--diff-filter=AM', '--no-renames', '-z', 'HEAD'])
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
const MAX_SEARCHED_FILES = 500

async function withMarkers(top: string, paths: readonly string[]): Promise<string[]> {
  const marked: string[] = []
  for (const path of paths.slice(0, MAX_SEARCHED_FILES)) {
    const text = await readFile(join(top, path), 'latin1').catch(() => '')
    // A file that had them before this work, such as a test of a merge tool, is nobody's conflict.
    if (MARKED.test(text) && !MARKED.test((await askGitLine(top, ['show', `HEAD:${path}`])) ?? '')) marked.push(path)
  }
  return marked
}

async function continueSteps(place: Pick<Worktree, 'top' | 'branch'>): Promise<ContinueResult> {
  const env = await committerEnv(place.top)
  for (let step = 0; step < MOST_STEPS; step += 1) {
    // A commit of which nothing is left is skipped: the target has it already.
    const isEmpty = (await git(place.top, ['diff', '--cached', '--quiet', 'HEAD'])).ok
    const hasStopped = (await askGitLine(place.top, ['rev-parse', '--verify', '--quiet', 'REBASE_HEAD'])) !== undefined
    const args = isEmpty && hasStopped ? ['rebase', '--skip'] : ['rebase', '--continue']
    const said = await git(place.top, args, { env })
    if ((await findGitOperation(place.top))?.kind !== 'rebase') {
      return said.ok
        ? checkBranch(place)
        : { kind: 'broken', why: `git rebase failed: ${said.stderr.trim().slice(-500)}` }
    }
    const conflict = await readConflict(place.top)
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

async function checkBranch({ top, branch }: Pick<Worktree, 'top' | 'branch'>): Promise<ContinueResult> {
  const isOn = await askGitLine(top, ['symbolic-ref', '--quiet', 'HEAD'])
  if (isOn === `refs/heads/${branch}`) return { kind: 'done' }
  return { kind: 'broken', why: `after the rebase ${top} is not on ${branch}` }
}

/** The target comes first among the parents, as in every merge that we make. */
async function concludeMerge(place: Pick<Worktree, 'top' | 'branch'>): Promise<ContinueResult> {
  const own = (await findGitFolder(place.top))?.own ?? ''
  const other = (await readFile(join(own, 'MERGE_HEAD'), 'utf8').catch(() => '')).split('\n')[0] ?? ''
  const tree = await askGitLine(place.top, ['write-tree'])
  if (tree === undefined || other === '') return { kind: 'broken', why: 'the merge cannot be concluded' }
  const args = ['commit-tree', tree, '-p', other, '-p', 'HEAD', '-m', `Merge ${place.branch}: conflicts resolved`]
  const made = await git(place.top, args, { env: await committerEnv(place.top) })
  const moved = made.ok && (await git(place.top, ['reset', '--hard', '--quiet', made.stdout.trim()])).ok
  return moved ? checkBranch(place) : { kind: 'broken', why: `the merge cannot be concluded: ${made.stderr.trim()}` }
}

/** A conversation is given so much and no more: the files themselves lie before the agent. */
const MAX_CONFLICT_FILES = 20
const MOST_OF_A_FILE = 4_000
const MOST_IN_ALL = 24_000
/** Of a file, what is searched for markers. */
const MOST_BYTES = 2_000_000
const LINES_AROUND = 3

/** What could not be brought together in a checkout in which a rebase or merge stands; undefined where nothing is left open. */
async function readConflict(top: string): Promise<Conflict | undefined> {
  const open = await listUnmerged(top)
  if (open.size === 0) return undefined
  const kind = (await findGitOperation(top))?.kind === 'rebase' ? 'rebase' : 'merge'
  const commit =
    kind === 'rebase' ? ((await askGitLine(top, ['log', '-1', '--format=%s', 'REBASE_HEAD'])) ?? null) : null
  const files: ConflictedFile[] = []
  let left = MOST_IN_ALL
  for (const [path, stages] of [...open].slice(0, MAX_CONFLICT_FILES)) {
    const hunks = await hunksOf(join(top, path), Math.min(MOST_OF_A_FILE, left))
    left -= hunks.length
    files.push({ path, what: whatHappened(stages, kind), hunks })
  }
  return { kind, files, count: open.size, commit }
}

/** Paths that git could not bring together, and the sides on which each is there: 1 before, 2 and 3 after. */
async function listUnmerged(top: string): Promise<Map<string, Set<number>>> {
  const { stdout } = await git(top, ['ls-files', '--unmerged', '-z'])
  const open = new Map<string, Set<number>>()
  for (const line of stdout.split('\0')) {
    const found = /^\d+ [0-9a-f]+ ([123])\t([\s\S]+)$/.exec(line)
    const [stage, path] = [Number(found?.[1]), found?.[2]]
    if (path !== undefined) open.set(path, (open.get(path) ?? new Set()).add(stage))
  }
  return open
}

/** In a rebase the second side is the target and the third the work; in a merge of the target it is the other way round. */
function whatHappened(stages: ReadonlySet<number>, kind: Conflict['kind']): string {
  const [target, work] = kind === 'rebase' ? [2, 3] : [3, 2]
  if (stages.has(2) && stages.has(3)) return stages.has(1) ? 'changed on both sides' : 'added on both sides'
  if (stages.has(target)) return 'changed in the target, deleted or moved by this task'
  if (stages.has(work)) return 'changed by this task, deleted or moved in the target'
  return 'deleted or moved on both sides'
}

async function hunksOf(file: string, most: number): Promise<string> {
  const lines = (await beginning(file))?.split('\n')
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

/** Undefined for what is no text, or not there. */
async function beginning(file: string): Promise<string | undefined> {
  try {
    await using handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(MOST_BYTES), 0, MOST_BYTES, 0)
    const bytes = buffer.subarray(0, bytesRead)
    return bytes.includes(0) ? undefined : bytes.toString()
  } catch {
    return undefined
  }
}
