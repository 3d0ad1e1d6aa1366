import { existsSync } from 'node:fs'
import { copyFile, mkdtemp, readFile, rm, stat, utimes } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findProcessesIn } from '../../base/process/sweep.ts'
import { git } from './git.ts'
import { findGitFolder, type GitFolder } from './git-folder.ts'

/** What a checkout is on, and what in it is in no commit. */
export interface CheckoutStatus {
  /** Undefined where HEAD is on no branch. */
  branch: string | undefined
  commit: string | undefined
  /** Changed, staged, in conflict or, where they were asked for, unknown to git. */
  loose: string[]
}

/** One call of git for all of it; the words of git where it fails. */
export async function readCheckoutStatus(top: string, untracked: 'all' | 'no'): Promise<CheckoutStatus | string> {
  const args = ['status', '--porcelain=v2', '--branch', `--untracked-files=${untracked}`, '--no-renames', '-z']
  const { ok, stdout, stderr } = await git(top, args)
  if (!ok) return `git status fails in ${top}: ${stderr.trim()}`
  const lines = stdout.split('\0').filter(line => line !== '')
  const headed = (name: string) => lines.find(line => line.startsWith(`# branch.${name} `))?.slice(name.length + 10)
  const [branch, commit] = [headed('head'), headed('oid')]
  return {
    branch: branch === '(detached)' ? undefined : branch,
    commit: commit === '(initial)' ? undefined : commit,
    loose: lines.filter(line => !line.startsWith('# ')).map(pathOf),
  }
}

/** `1 .M N... 100644 100644 100644 <oid> <oid> <path>`, `u` with two fields more, `? <path>`. */
function pathOf(line: string): string {
  const fields = line.startsWith('1 ') ? 8 : line.startsWith('u ') ? 10 : 1
  return line.split(' ').slice(fields).join(' ')
}

/** An operation that git has begun in a checkout and not finished. */
export interface GitOperation {
  kind: 'rebase' | 'merge' | 'cherry-pick' | 'revert' | 'bisect' | 'am'
  /** The branch that it is about, where HEAD is not on it meanwhile. */
  branch: string | undefined
}

/** What stands half done in a checkout, read from the files that git keeps of it. */
export async function findGitOperation(top: string): Promise<GitOperation | undefined> {
  const own = (await findGitFolder(top))?.own
  return own === undefined ? undefined : findGitOperationIn(own)
}

/** The same for the folder in which git keeps a checkout's own state. */
export async function findGitOperationIn(own: string): Promise<GitOperation | undefined> {
  for (const [kind, file, nameFile] of OPERATION_FILES) {
    if (!existsSync(join(own, file))) continue
    const name = nameFile && (await readFile(join(own, nameFile), 'utf8').catch(() => '')).trim()
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

/**
 * The name of everything that lies in a checkout and is not ignored, committed or not. The checkout's own index stays as it
 * is: a copy of it is filled. Undefined where git cannot tell.
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
 * With its time: git compares files by seconds, and looks into one that was changed in the second in which its index was
 * written. A copy of a later time would hide such a change.
 */
async function copyIndex(from: string, to: string): Promise<void> {
  const stats = await stat(from).catch(() => undefined)
  if (!stats) return // a new repository has none
  await copyFile(from, to)
  await utimes(to, stats.atime, stats.mtime)
}

/** What the index says of files beside their contents. */
export interface IndexMarks {
  /** Marked as unchanged, or as not checked out: git does not look at them. */
  unseen: string[]
  submodules: string[]
}

/** Reads the marks from the index file itself where it has the plain form, else asks git. Undefined where nobody can tell. */
export async function readIndexMarks(top: string, own: string | undefined): Promise<IndexMarks | undefined> {
  const file = own === undefined ? undefined : await readFile(join(own, 'index')).catch(() => undefined)
  return (file && parseIndexFile(file)) ?? listIndexMarks(top)
}

const ENTRY_BYTES = 62
const MODE_AT = 24
const FLAGS_AT = 60
const SUBMODULE = 0o160000

/**
 * Version 2, ids of 20 bytes, all entries in this file: what nearly every repository has. A later version may mark files as not
 * checked out or shorten names; a file that leaves the rest to another one says so in a part called "link".
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
    // Of a name that is longer than the flags can say nothing is known but its end; ids of 32 bytes fit nothing of this.
    if (end < 0 || (length < 0xfff && end - at - ENTRY_BYTES !== length)) return undefined
    const name = () => file.toString('utf8', at + ENTRY_BYTES, end)
    if (flags & 0x8000) marks.unseen.push(name())
    if (file.readUInt32BE(at + MODE_AT) === SUBMODULE) marks.submodules.push(name())
    at += (end - at + 8) & ~7
  }
  return file.includes('link', at, 'latin1') ? undefined : marks
}

/** `H 100644 <oid> 0\t<path>`; a small letter stands for a file that is marked as unchanged, S for one that is not checked out. */
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
const LOOK_MS = 50

/**
 * After a death: a git of ours may have outlived us and be at its end. Waits until none works in the directory any more, or for
 * as long as is reasonable, and removes locks that only ours can have taken and nobody holds now.
 */
export async function waitForOrphanedGit(directory: string, locks: readonly string[]): Promise<void> {
  for (let waited = 0; waited < PATIENCE_MS && (await isGitIn(directory)); waited += LOOK_MS) await sleep(LOOK_MS)
  for (const lock of locks) if (existsSync(lock)) await rm(lock, { force: true })
}

async function isGitIn(directory: string): Promise<boolean> {
  const working = await findProcessesIn(directory)
  return working?.some(({ command }) => /(^|\/)git( |$)/.test(command)) ?? false
}
