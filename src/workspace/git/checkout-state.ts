import { randomUUID } from 'node:crypto'
import { existsSync, lstatSync, type Stats } from 'node:fs'
import { mkdtemp, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import { messageOf } from '../../base/errors.ts'
import { readRegularFile } from '../../base/files.ts'
import { decodeNames, encodeNames } from '../../base/names.ts'
import { findProcessesIn } from '../../base/process/sweep.ts'
import { addOwnerRights, openRealFolder, removeInside } from '../../base/real-folder.ts'
import { type IndexMarks, isSubmodule, parseIndexFile } from '../../base/sandbox/git-files.ts'
import { git, gitSeries } from './git.ts'
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

/** The tree id of all files of a checkout that are not ignored, committed or not. The checkout's own index stays as it is. */
export async function nameWorkTree(folder: GitFolder): Promise<string | undefined> {
  await using index = await openFreshIndex(folder)
  if (index.problem !== undefined) return undefined
  const { env } = index
  const named = await gitSeries(folder.top, () => [['add', '--all', '--', '.'], ['write-tree']], { env })
  return named.ok ? named.outputs[1]?.trim() : undefined
}

/** An index aside from the checkout's own, for `GIT_INDEX_FILE`. */
export interface FreshIndex extends AsyncDisposable {
  file: string
  env: { GIT_INDEX_FILE: string }
  /** Why git could not make it. */
  problem: string | undefined
}

/**
 * An index with the entries of the checkout's own, and nothing else of it. An agent can write an index by which a changed file passes
 * for an unchanged one: with times and sizes that match, or with marks. In this one no file has any, so that git hashes every file
 * that is added to it. Files that a sparse checkout leaves out stay out while they are missing.
 */
export async function openFreshIndex({ top }: Pick<GitFolder, 'top'>): Promise<FreshIndex> {
  const scratch = await mkdtemp(join(tmpdir(), 'pcc-index-'))
  const file = join(scratch, 'index')
  const env = { GIT_INDEX_FILE: file }
  const problem = await fillFreshIndex(top, env).catch(messageOf)
  return { file, env, problem, [Symbol.asyncDispose]: () => rm(scratch, { recursive: true, force: true }) }
}

async function fillFreshIndex(top: string, env: Record<string, string>): Promise<string | undefined> {
  const listed = await git(top, ['ls-files', '-z', '-v', '-s'], { maxBytes: MOST_BYTES })
  if (!listed.ok) return listed.stderr.trim()
  const lines = listed.stdout.split('\0').filter(line => line !== '')
  const input = lines.map(line => `${line.slice(2)}\0`).join('')
  const args = lines.length === 0 ? ['read-tree', '--empty'] : ['update-index', '-z', '--index-info']
  const filled = await git(top, args, { env, input })
  if (!filled.ok) return filled.stderr.trim()
  const marked = lines.filter(line => /^s/i.test(line)).map(line => line.slice(line.indexOf('\t') + 1))
  if (marked.length === 0 || !(await isSparse(top))) return undefined
  const missing = marked.filter(path => !lstatSync(encodeNames(join(top, path)), { throwIfNoEntry: false }))
  const left = await git(top, ['update-index', '-z', '--skip-worktree', '--stdin'], { env, input: missing.join('\0') })
  return left.ok ? undefined : left.stderr.trim()
}

/** Whether the checkout leaves files out by patterns. */
export async function isSparse(top: string): Promise<boolean> {
  return (await git(top, ['config', '--bool', '--get', 'core.sparseCheckout'])).stdout.trim() === 'true'
}

/**
 * Makes an index file the checkout's own. Git reads a file again that was changed in the second in which the index was written, so
 * the copy must not be younger. An agent can put a link in its place at any moment: nothing is written through one.
 */
export async function installIndex(own: string, from: string): Promise<boolean> {
  await using folder = await openRealFolder(own)
  const index = await readRegularFile(from, MOST_BYTES).catch(() => undefined)
  if (!folder || !index) return false
  const aside = folder.at(`index.pcc-${randomUUID()}`)
  {
    await using file = await open(aside, 'wx')
    await file.writeFile(index)
    const seconds = Math.floor((await stat(from)).mtimeMs / 1000)
    await file.utimes(seconds, seconds)
  }
  await rename(aside, folder.at('index'))
  return true
}

/** An index of a very large repository. */
const MOST_BYTES = 512_000_000

/**
 * The index of a checkout, which is large in a large repository. Throws if it is missing or no ordinary file. An agent can make it a link to a
 * key of the person, whose content would then be copied to where the agent reads it.
 */
export function readIndexFile(own: string, mostBytes = MOST_BYTES): Promise<Buffer> {
  return readRegularFile(join(own, 'index'), mostBytes, { follow: false })
}

/** Reads the marks from the index file itself where it has the common format, else asks git. Undefined if both fail. */
export async function readIndexMarks(top: string, own: string | undefined): Promise<IndexMarks | undefined> {
  const file = own === undefined ? undefined : await readIndexFile(own, MOST_PARSED_BYTES).catch(() => undefined)
  return (file && parseIndexFile(file, decodeNames)) ?? listIndexMarks(top)
}

/** An index of half a million files. A larger one is left to git, because nobody is served while it is parsed here. */
const MOST_PARSED_BYTES = 50_000_000
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
    submodules: entries.filter(({ mode }) => isSubmodule(Number.parseInt(mode, 8))).map(({ path }) => path),
  }
}

/** What is in a checkout and in no list of git. */
export interface UnseenEntries {
  paths: string[]
  /** Whether a file of attributes is there, by which git changes files as it stores them. */
  hasAttributes: boolean
}

/**
 * Walks a checkout for what git neither lists nor commits: whatever is called `.git`, pipes and the like, empty folders, and all that
 * is in the folders of submodules; a folder that holds nothing else, as a whole. Folders in `skip` are left out. Only names are read.
 * Undefined if nobody knows the submodules.
 */
export async function findUnseen(
  { top, own }: Pick<GitFolder, 'top' | 'own'>,
  skip: readonly string[],
): Promise<UnseenEntries | undefined> {
  const marks = await readIndexMarks(top, own)
  if (!marks) return undefined
  const [submodules, skipped] = [new Set(marks.submodules), new Set(skip)]
  const found: UnseenEntries = { paths: [], hasAttributes: false }
  // One letter for each byte: a name need not be text, and what is in such a folder is looked at all the same.
  const holdsSeen = async (at: string): Promise<boolean> => {
    const entries = await readdir(bytesBelow(top, at), IN_LETTERS).catch(() => []) // git passes over a folder that cannot be read, too
    const unseen: string[] = []
    const isSubmodule = submodules.has(textOf(at))
    let isSeen = at === '' || isSubmodule
    for (const entry of entries) {
      const inside = join(at, entry.name)
      const path = textOf(inside)
      if (path === '.git') continue
      found.hasAttributes ||= entry.name === '.gitattributes'
      const isFile = entry.isFile() || entry.isSymbolicLink()
      const isHidden = isSubmodule || /^\.git$/i.test(entry.name) || !(isFile || entry.isDirectory())
      if (skipped.has(path) || (!isHidden && (isFile || (await holdsSeen(inside))))) isSeen = true
      else unseen.push(path)
    }
    if (isSeen) found.paths.push(...unseen)
    return isSeen
  }
  await holdsSeen('')
  return found
}

const IN_LETTERS = { withFileTypes: true, encoding: 'latin1' } as const

function textOf(letters: string): string {
  return decodeNames(Buffer.from(letters, 'latin1'))
}

/** How many entries are looked at before others get their turn. */
const ENTRIES_AT_ONCE = 500
/** Between the time that pcc gives a file and the change time that it gets by that. */
const TICK_MS = 50
const FOLDER_RIGHTS = 0o700
const FILE_RIGHTS = 0o400

/**
 * Gives the owner of a checkout the rights that git would give them, and returns the files that carry another time than that of their last
 * change. Git records neither: an agent can close a folder or a file, so that a runner finds no tests, and set the time of a source back, so that
 * what was built of it before passes for up to date. Nobody can set a change time back. Only changes after `since` count; with null, where change
 * times tell nothing, every file. Folders in `skip` are left out.
 */
export async function openCheckout(
  top: string,
  { since, skip }: { since: number | null; skip: readonly string[] },
): Promise<string[]> {
  const skipped = new Set(skip)
  const misdated: string[] = []
  const open = async (path: string, stats: Stats) => {
    const rights = stats.isDirectory() ? FOLDER_RIGHTS : FILE_RIGHTS
    if ((stats.mode & rights) !== rights) await addOwnerRights(dirname(top), join(basename(top), path), rights)
  }
  const own = statsOf(Buffer.from(top))
  if (own) await open('', own)
  let seen = 0
  const folders = ['']
  for (let at = folders.pop(); at !== undefined; at = folders.pop()) {
    // One letter for each byte: a name need not be text, and what is in such a folder is looked at all the same.
    for (const entry of await readdir(bytesBelow(top, at), IN_LETTERS).catch(() => [])) {
      const inside = join(at, entry.name)
      const path = textOf(inside)
      if (path === '.git' || skipped.has(path)) continue
      seen += 1
      if (seen % ENTRIES_AT_ONCE === 0) await setImmediate()
      const stats = statsOf(bytesBelow(top, inside))
      if (!stats?.isDirectory() && !stats?.isFile()) continue
      await open(path, stats)
      if (stats.isDirectory()) folders.push(inside)
      else if (since === null || isMisdated(stats, since)) misdated.push(path)
    }
  }
  return misdated
}

function isMisdated({ ctimeMs, mtimeMs }: Stats, since: number): boolean {
  return ctimeMs > since && Math.abs(ctimeMs - mtimeMs) > TICK_MS
}

function statsOf(path: Buffer): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined // longer than a path may be: git does not reach it either
  }
}

function bytesBelow(top: string, letters: string): Buffer {
  return Buffer.concat([Buffer.from(`${top}/`), Buffer.from(letters, 'latin1')])
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
