import { existsSync } from 'node:fs'
import { copyFile, mkdtemp, rm, stat, utimes } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { readRegularFile } from '../../base/files.ts'
import { findProcessesIn } from '../../base/process/sweep.ts'
import { removeInside } from '../../base/real-folder.ts'
import { git } from './git.ts'
import { findGitFolder, type GitFolder } from './git-folder.ts'

/** The branch and commit of a checkout, and its uncommitted files. */
export interface CheckoutStatus {
  /** Undefined if HEAD is on no branch. */
  branch: string | undefined
  commit: string | undefined
  /** Paths that are changed, staged, in conflict or, where they were asked for, untracked. */
  loose: string[]
  /** Those of them that are in conflict. */
  conflicts: string[]
  /** Those that git does not know. */
  untracked: string[]
  /** Whether a tracked file differs from the index. */
  isIndexBehind: boolean
}

/** Reads the status with one call of git; returns git's error where it fails. */
export async function readCheckoutStatus(top: string, untracked: 'all' | 'no'): Promise<CheckoutStatus | string> {
  const args = ['status', '--porcelain=v2', '--branch', `--untracked-files=${untracked}`, '--no-renames', '-z']
  const { ok, stdout, stderr } = await git(top, args)
  if (!ok) return `git status fails in ${top}: ${stderr.trim()}`
  const lines = stdout.split('\0').filter(line => line !== '')
  const headerValue = (name: string) =>
    lines.find(line => line.startsWith(`# branch.${name} `))?.slice(name.length + 10)
  const [branch, commit] = [headerValue('head'), headerValue('oid')]
  const pathsOf = (mark: string) => lines.filter(line => line.startsWith(mark)).map(pathInStatus)
  return {
    branch: branch === '(detached)' ? undefined : branch,
    commit: commit === '(initial)' ? undefined : commit,
    loose: lines.filter(line => !line.startsWith('# ')).map(pathInStatus),
    conflicts: pathsOf('u '),
    untracked: pathsOf('? '),
    isIndexBehind: lines.some(line => /^1 .[^.]/.test(line)),
  }
}

/** `1 .M N... 100644 100644 100644 <oid> <oid> <path>`, `u` with two fields more, `? <path>`. */
function pathInStatus(line: string): string {
  const fields = line.startsWith('1 ') ? 8 : line.startsWith('u ') ? 10 : 1
  return line.split(' ').slice(fields).join(' ')
}

/** An operation that git has begun in a checkout and not finished. */
export interface GitOperation {
  kind: 'rebase' | 'merge' | 'cherry-pick' | 'revert' | 'bisect' | 'am'
  /** The branch that it is about, where HEAD is not on it meanwhile. */
  branch: string | undefined
}

/** The unfinished git operation of a checkout, read from git's own files. */
export async function findGitOperation(top: string): Promise<GitOperation | undefined> {
  const own = (await findGitFolder(top))?.own
  return own === undefined ? undefined : findGitOperationIn(own)
}

/** The unfinished git operation, by the folder in which git keeps a checkout's own state. */
export async function findGitOperationIn(own: string): Promise<GitOperation | undefined> {
  for (const [kind, file, nameFile] of OPERATION_FILES) {
    if (!existsSync(join(own, file))) continue
    const name = nameFile && (await readRegularFile(join(own, nameFile)).catch(() => '')).toString().trim()
    return { kind, branch: name ? name.replace(/^refs\/heads\//, '') : undefined }
  }
  return undefined
}

const OPERATION_FILES: [GitOperation['kind'], file: string, nameFile?: string][] = [
  ['rebase', 'rebase-merge', 'rebase-merge/head-name'],
  ['am', 'rebase-apply/applying'],
  ['rebase', 'rebase-apply', 'rebase-apply/head-name'],
  ['merge', 'MERGE_HEAD'],
  ['cherry-pick', 'CHERRY_PICK_HEAD'],
  ['revert', 'REVERT_HEAD'],
  ['bisect', 'BISECT_START', 'BISECT_START'],
]

/** Files and folders in which git notes an unfinished operation; some name programs, or commits that git would apply. */
const OPERATION_NOTES =
  'rebase-merge rebase-apply sequencer MERGE_HEAD MERGE_MODE MERGE_MSG MERGE_RR MERGE_AUTOSTASH SQUASH_MSG CHERRY_PICK_HEAD REVERT_HEAD REBASE_HEAD AUTO_MERGE'.split(
    ' ',
  )

/** Makes git forget an unfinished operation in a worktree. No git is asked to end it: it would obey its notes. */
export async function dropGitOperation(top: string): Promise<void> {
  const own = (await findGitFolder(top))?.own
  if (own !== undefined) for (const name of OPERATION_NOTES) await removeInside(own, name)
}

/**
 * The tree id of all files of a checkout that are not ignored, committed or not. The checkout's own index stays as it is: a copy
 * of it is used. Undefined if git fails.
 */
export async function nameWorkTree({ top, own }: GitFolder): Promise<string | undefined> {
  const scratch = await mkdtemp(join(tmpdir(), 'pcc-index-'))
  try {
    const index = join(scratch, 'index')
    await copyIndex(join(own, 'index'), index)
    const env = { GIT_INDEX_FILE: index }
    const added = await git(top, ['add', '--all', '--', '.'], { env })
    const named = added.ok ? await git(top, ['write-tree'], { env }) : added
    return named.ok ? named.stdout.trim() : undefined
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
}

/**
 * The copy keeps the time of the index: git compares times by seconds, and reads a file that was changed in the second in which the
 * index was written. A copy with a later time would hide such a change.
 */
async function copyIndex(from: string, to: string): Promise<void> {
  const stats = await stat(from).catch(() => undefined)
  if (!stats?.isFile()) return // a new repository has none
  await copyFile(from, to)
  await utimes(to, stats.atime, stats.mtime)
}

/** The index of a checkout, which is large in a large repository. Throws if it is missing or no ordinary file. */
export function readIndexFile(own: string): Promise<Buffer> {
  return readRegularFile(join(own, 'index'), 2_000_000_000)
}

/** What the index says about files beside their contents. */
export interface IndexMarks {
  /** Files that are marked as unchanged, or as not checked out: git does not look at them. */
  unseen: string[]
  submodules: string[]
}

/** Reads the marks from the index file itself where it has the common format, else asks git. Undefined if both fail. */
export async function readIndexMarks(top: string, own: string | undefined): Promise<IndexMarks | undefined> {
  const file = own === undefined ? undefined : await readIndexFile(own).catch(() => undefined)
  return (file && parseIndexFile(file)) ?? listIndexMarks(top)
}

const ENTRY_BYTES = 62
const MODE_AT = 24
const FLAGS_AT = 60
const SUBMODULE = 0o160000

/**
 * Parses version 2 with ids of 20 bytes and all entries in this file, which nearly every repository has. A later version may mark
 * files as not checked out or shorten names; an index that is split over two files has an extension called "link".
 */
function parseIndexFile(file: Buffer): IndexMarks | undefined {
  if (file.length < 32 || file.toString('latin1', 0, 4) !== 'DIRC' || file.readUInt32BE(4) !== 2) return undefined
  const marks: IndexMarks = { unseen: [], submodules: [] }
  let at = 12
  for (let left = file.readUInt32BE(8); left > 0; left--) {
    if (at + ENTRY_BYTES > file.length) return undefined
    const flags = file.readUInt16BE(at + FLAGS_AT)
    const end = file.indexOf(0, at + ENTRY_BYTES)
    const length = flags & 0xfff
    // The length of a very long name is not in the flags, only its end is known; an index with ids of 32 bytes fails this check.
    if (end < 0 || (length < 0xfff && end - at - ENTRY_BYTES !== length)) return undefined
    const name = () => file.toString('utf8', at + ENTRY_BYTES, end)
    if (flags & 0x8000) marks.unseen.push(name())
    if (file.readUInt32BE(at + MODE_AT) === SUBMODULE) marks.submodules.push(name())
    at += (end - at + 8) & ~7
  }
  return file.includes('link', at, 'latin1') ? undefined : marks
}

/** `H 100644 <oid> 0\t<path>`; a small letter means that the file is marked as unchanged, S that it is not checked out. */
async function listIndexMarks(top: string): Promise<IndexMarks | undefined> {
  const { ok, stdout } = await git(top, ['ls-files', '-z', '-v', '-s'])
  if (!ok) return undefined
  const entries = stdout.split('\0').flatMap(line => {
    const [, tag = '', mode = '', path = ''] = /^(.) (\d+) [^\t]+\t([\s\S]+)$/.exec(line) ?? []
    return path === '' ? [] : [{ tag, mode, path }]
  })
  return {
    unseen: entries.filter(({ tag }) => tag === 'S' || tag === tag.toLowerCase()).map(({ path }) => path),
    submodules: entries.filter(({ mode }) => mode === '160000').map(({ path }) => path),
  }
}

const PATIENCE_MS = 10_000
const POLL_MS = 50

/**
 * Called after a death of the daemon: a git process of ours may still be running. Waits until no git works in the directory, or
 * `PATIENCE_MS` at most, and then removes locks that only our git can have taken.
 */
export async function waitForOrphanedGit(directory: string, locks: readonly string[]): Promise<void> {
  for (let waited = 0; waited < PATIENCE_MS && (await isGitRunningIn(directory)); waited += POLL_MS)
    await sleep(POLL_MS)
  for (const lock of locks) await removeInside(dirname(lock), basename(lock))
}

async function isGitRunningIn(directory: string): Promise<boolean> {
  const working = await findProcessesIn(directory)
  return working?.some(({ command }) => /(^|\/)git( |$)/.test(command)) ?? false
}
