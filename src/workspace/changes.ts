import { lstatSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { ChangedFile, Merge, TaskDiff } from '../domain/merge.ts'
import type { Worktree, WorktreeRow } from '../domain/worktree.ts'
import { nameWorkTree } from './git/checkout-state.ts'
import { git } from './git/git.ts'
import { findGitFolder } from './git/git-folder.ts'
import { askGitLine, findMergeBase, gitOnObjects } from './git/refs.ts'

/** The two ends of a change, and the directory in which git finds them. */
type DiffEnds = Pick<TaskDiff, 'source' | 'from' | 'to'> & { directory: string }

export interface TaskDiffSource {
  task: { id: string; title: string }
  /** The newest worktree of the task. */
  worktree: WorktreeRow | undefined
  /** The last merge of the task that reached the target. */
  merged: Merge | undefined
}

/** What a task's attempt changed, wherever its work is by now; undefined if nothing is left. */
export async function readTaskDiff(
  { task, worktree, merged }: TaskDiffSource,
  { stat }: { stat: boolean },
): Promise<TaskDiff | undefined> {
  const ends =
    (worktree && (await endsOfWorktree(worktree))) ??
    (merged && (await endsOfMerge(merged, baseOfWork(merged, worktree)))) ??
    (worktree && (await endsOfArchive(worktree)))
  if (!ends) return undefined
  const between = await readDiffBetween(ends.directory, { ...ends, stat })
  if (!between) return undefined
  const { source, from, to } = ends
  const { attempt = 0, branch = '', target = '' } = worktree ?? merged ?? {}
  const { files, diff, cut } = between
  return {
    ...{ task: task.id, title: task.title, attempt, source, from, to, branch, target, files, cut },
    ...(!stat && { diff }),
  }
}

function baseOfWork({ attempt }: Merge, worktree: WorktreeRow | undefined): string | undefined {
  return worktree?.attempt === attempt ? worktree.base : undefined
}

/** From where the worktree left its target to everything that it holds now, committed or not. */
async function endsOfWorktree({ state, top, target, base }: WorktreeRow): Promise<DiffEnds | undefined> {
  if (state !== 'live') return undefined
  const folder = await findGitFolder(top)
  const to = folder && (await nameWorkTree(folder))
  if (!folder || to === undefined) return undefined
  return { source: 'worktree', directory: top, from: await findForkPoint(top, { target, base }), to }
}

/** Where the work in a worktree left its target: a rebase moves that, and what others merged before it is none of its work. */
async function findForkPoint(top: string, { target, base }: Pick<Worktree, 'target' | 'base'>): Promise<string> {
  const forkPoint = await git(top, ['merge-base', `refs/heads/${target}`, 'HEAD'])
  return forkPoint.ok ? forkPoint.stdout.trim() : base
}

/**
 * The verified work alone, not what the target became with it: other work landed in between. A merge whose work was already in the
 * target has no base; then the worktree's base is used. The verified commit is not kept for ever: after that the result in the
 * target is used.
 */
async function endsOfMerge(
  { repository, base, head, result }: Merge,
  forkPoint: string | undefined,
): Promise<DiffEnds | undefined> {
  const from = base ?? forkPoint
  const isKept = head !== null && (await git(repository, ['cat-file', '-e', `${head}^{commit}`])).ok
  const to = isKept ? head : result
  return from === undefined || to === null ? undefined : { source: 'merged', directory: repository, from, to }
}

async function endsOfArchive({ repository, archive, base }: WorktreeRow): Promise<DiffEnds | undefined> {
  const to = archive === null ? undefined : await askGitLine(repository, ['rev-parse', '-q', '--verify', archive])
  if (to === undefined) return undefined
  const from = await findMergeBase(repository, base, to)
  return { source: 'archived', directory: repository, from: from ?? base, to }
}

export interface DiffBetween {
  files: ChangedFile[]
  diff: string
  /** The diff is longer than what is returned. */
  cut: boolean
}

/** As much as a person pages through. */
const MAX_DIFF_BYTES = 8_000_000

/** The diff between two trees of a repository; undefined if git fails. No setting or attribute of the repository counts. */
async function readDiffBetween(
  directory: string,
  { from, to, stat }: { from: string; to: string; stat: boolean },
): Promise<DiffBetween | undefined> {
  const plain = ['--no-color', '--no-ext-diff', '--no-textconv', '--find-renames']
  const counted = await gitOnObjects(directory, ['diff', ...plain, '--numstat', '-z', from, to, '--'])
  if (!counted.ok) return undefined
  const files = parseNumstat(counted.stdout)
  if (stat) return { files, diff: '', cut: false }
  const shown = await gitOnObjects(directory, ['diff', ...plain, from, to, '--'])
  // Of a diff that is too long for git's output limit only the numbers are returned.
  if (!shown.ok) return { files, diff: '', cut: true }
  const isLong = shown.stdout.length > MAX_DIFF_BYTES
  return { files, diff: isLong ? shown.stdout.slice(0, MAX_DIFF_BYTES).toWellFormed() : shown.stdout, cut: isLong }
}

/** `added<TAB>removed<TAB>path`, or for a renamed file an empty path followed by both names. */
function parseNumstat(numstat: string): ChangedFile[] {
  const parts = numstat.split('\0')
  const files: ChangedFile[] = []
  for (let at = 0; at < parts.length; at += 1) {
    const [, added, removed, path] = /^(\d+|-)\t(\d+|-)\t([\s\S]*)$/.exec(parts[at] ?? '') ?? []
    if (added === undefined || removed === undefined || path === undefined) continue
    const name = path === '' ? `${parts[at + 1]} → ${parts[at + 2]}` : path
    if (path === '') at += 2
    files.push({ path: name, added: parseCount(added), removed: parseCount(removed) })
  }
  return files
}

function parseCount(text: string): number | null {
  return text === '-' ? null : Number(text)
}

/** The files that the work in a worktree changed, committed or not, as paths from its directory; undefined if git fails. */
export async function listChangedInWorktree(worktree: Worktree): Promise<string[] | undefined> {
  return listChangedBetween(worktree.directory, { base: await findForkPoint(worktree.top, worktree) })
}

/** Files that differ between two commits, or a commit and the work tree, as paths from `directory`; undefined if git fails. */
export async function listChangedBetween(
  directory: string,
  { base, head }: { base: string; head?: string | undefined },
): Promise<string[] | undefined> {
  const how = ['--name-only', '--relative', '--no-renames', '--ignore-submodules=all', '-z']
  const [differing, others] = await Promise.all([
    git(directory, ['diff', ...how, base, ...(head === undefined ? [] : [head]), '--']),
    head === undefined ? git(directory, ['ls-files', '--others', '--exclude-standard', '-z']) : undefined,
  ])
  if (!differing.ok || others?.ok === false) return undefined
  const paths = `${differing.stdout}${others?.stdout ?? ''}`.split('\0').filter(path => path !== '')
  return [...new Set(paths)].sort()
}

/** How long git may take: a list of files is not worth a longer wait. */
const PATIENCE_MS = 5_000
/** Paths of a whole repository, at most. */
const MAX_LIST_BYTES = 8_000_000

/**
 * Files of a git work tree that were changed since a time, committed or not, as paths from `directory`; undefined if there is no
 * repository or git fails. Nothing has to be noted at the start, so that a restart in between does no harm: a file counts if it
 * differs from the last commit before that time, and was touched after it.
 */
export async function listChangedSince(directory: string, since: number): Promise<string[] | undefined> {
  // A commit of the same second may be older or newer: the times of the files decide.
  const before = `--before=@${Math.floor(since / 1000) - 1}`
  const [head, others] = await Promise.all([
    askGit(directory, ['rev-list', '-1', before, 'HEAD', '--']),
    askGit(directory, ['ls-files', '--others', '--exclude-standard', '-z']),
  ])
  if (others === undefined) return undefined
  const base = head?.trim() || EMPTY_TREE
  const differing = await askGit(directory, [
    'diff-index',
    ...['--name-only', '--relative', '--no-renames', '--ignore-submodules=all', '-z', base, '--'],
  ])
  const paths = new Set([...splitByNul(differing), ...splitByNul(others)])
  return [...paths].filter(path => wasTouchedSince(directory, path, since)).sort()
}

const EMPTY_TREE = '4b825dc642cb6eb9a060e54bf8d69288fbee4904'

/** The output of git; undefined if it fails. */
async function askGit(directory: string, args: readonly string[]): Promise<string | undefined> {
  const { ok, stdout } = await git(directory, args, { timeoutMs: PATIENCE_MS, maxBytes: MAX_LIST_BYTES })
  return ok ? stdout : undefined
}

function splitByNul(text: string | undefined): string[] {
  return (text ?? '').split('\0').filter(path => path !== '')
}

/** Whether a file changed since then. For a deleted file, the change of its nearest existing directory counts. */
function wasTouchedSince(directory: string, path: string, since: number): boolean {
  const whole = join(directory, path)
  const own = changeTime(whole)
  if (own !== undefined) return own >= since
  for (let parent = dirname(whole); parent.length >= directory.length; parent = dirname(parent)) {
    const time = changeTime(parent)
    if (time !== undefined) return time >= since
  }
  return false
}

/** The later of both times: the modification time can be set back, and unpacking an archive does so. */
function changeTime(path: string): number | undefined {
  try {
    const stats = lstatSync(path, { throwIfNoEntry: false })
    return stats && Math.max(stats.mtimeMs, stats.ctimeMs)
  } catch {
    return undefined // it must not be read
  }
}
