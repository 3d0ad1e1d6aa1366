import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readRegularFileNow } from '../../base/files.ts'
import { lookUp, lookUpEntry } from '../../base/is-there.ts'
import { type GitOptions, type GitResult, git } from './git.ts'
import { findGitFolder } from './git-folder.ts'

/**
 * Runs git with the objects of a repository and nothing else of it: from an empty one, which borrows them. Settings name proxies that get a
 * login and files that cookies are written to; attributes keep the text of a file out of a diff. Objects are named by their ids;
 * with `GIT_OBJECT_DIRECTORY` those of that folder count.
 */
export async function gitOnObjects(
  directory: string,
  args: readonly string[],
  options: GitOptions = {},
): Promise<GitResult> {
  const repository = (await findGitFolder(directory))?.common ?? directory
  const empty = await mkdtemp(join(tmpdir(), 'pcc-objects-'))
  try {
    for (const name of ['objects', 'refs']) await mkdir(join(empty, name))
    await writeFile(join(empty, 'HEAD'), 'ref: refs/heads/main\n')
    const isSha256 = args.some(arg => /^[0-9a-f]{64}\b/.test(arg))
    const format = isSha256 ? '[extensions]\n\tobjectFormat = sha256\n' : ''
    await writeFile(join(empty, 'config'), `[core]\n\trepositoryFormatVersion = 1\n\tbare = true\n${format}`)
    // Where the history of a shallow clone ends.
    const shallow = readRegularFileNow(join(repository, 'shallow'), MOST_SHALLOW_BYTES, { follow: false })
    if (shallow) await writeFile(join(empty, 'shallow'), shallow)
    const env = { GIT_OBJECT_DIRECTORY: join(repository, 'objects'), ...options.env }
    return await git(empty, args, { ...options, env })
  } finally {
    await rm(empty, { recursive: true, force: true })
  }
}

/** It has a line for each commit whose parents are not there. */
const MOST_SHALLOW_BYTES = 1_000_000

/** The commits of branches, by name; without the branches that do not exist. */
export async function readBranchTips(repository: string, branches: readonly string[]): Promise<Map<string, string>> {
  const names = branches.map(branch => `refs/heads/${branch}`)
  const folder = await findGitFolder(repository)
  const known = folder && readRefs(folder.common, names)
  if (known) return new Map([...known].map(([ref, commit]) => [ref.slice('refs/heads/'.length), commit]))
  const { stdout } = await git(repository, ['for-each-ref', '--format=%(objectname) %(refname)', ...names])
  const tips = stdout.split('\n').flatMap((line): [string, string][] => {
    const [commit = '', ref = ''] = line.split(' ')
    // A pattern also matches refs below it.
    return names.includes(ref) ? [[ref.slice('refs/heads/'.length), commit]] : []
  })
  return new Map(tips)
}

/** Whether a commit is an ancestor of another one, or the same. */
export async function isAncestorOrSame(repository: string, commit: string, other: string): Promise<boolean> {
  return commit === other || (await git(repository, ['merge-base', '--is-ancestor', commit, other])).ok
}

/** A newest commit that two commits have in common: the older one itself where it is an ancestor of the other. */
export function findMergeBase(repository: string, one: string, other: string): Promise<string | undefined> {
  return askGitLine(repository, ['merge-base', one, other])
}

/** The output of git without its last line break; undefined if it is empty or git fails. */
export async function askGitLine(directory: string, args: readonly string[]): Promise<string | undefined> {
  const { ok, stdout } = await git(directory, args)
  return ok ? stdout.replace(/\n$/, '') || undefined : undefined
}

/** Whether two commits hold the same files. */
export async function isSameTree(repository: string, one: string, other: string): Promise<boolean> {
  if (one === other) return true
  const trees = await askGitLine(repository, ['rev-parse', `${one}^{tree}`, `${other}^{tree}`])
  const [first, second] = trees?.split('\n') ?? []
  return first !== undefined && first === second
}

/** The tree of a commit. */
export function readTreeOf(repository: string, commit: string): Promise<string | undefined> {
  return askGitLine(repository, ['rev-parse', '--verify', '--quiet', `${commit}^{tree}`])
}

/**
 * Reads refs from git's own files, which is much faster than calling git. Undefined if they are kept in another format
 * (reftable), point to other refs or are large: then git has to be asked. An agent can make a large file of nothing.
 */
export function readRefs(common: string, names: readonly string[]): Map<string, string> | undefined {
  if (lookUpEntry(join(common, 'reftable'))) return undefined
  if ([...names, 'packed-refs'].some(name => (lookUp(join(common, name))?.size ?? 0) > MOST_BYTES)) return undefined
  // Git packs a ref before it removes its file, so the files are read first.
  const own = names.map(name => readRegularFileNow(join(common, name), MOST_BYTES)?.toString())
  const packed = own.includes(undefined) ? readRegularFileNow(join(common, 'packed-refs'), MOST_BYTES) : undefined
  const refs = new Map<string, string>()
  for (const [index, name] of names.entries()) {
    const text = own[index]?.trimEnd() ?? findPackedOid(packed?.toString() ?? '', name)
    if (text === undefined) continue
    if (!/^([0-9a-f]{40}|[0-9a-f]{64})$/.test(text)) return undefined
    refs.set(name, text)
  }
  return refs
}

/** Repositories of many thousand branches have some megabytes. */
const MOST_BYTES = 10_000_000

function findPackedOid(packed: string, name: string): string | undefined {
  const at = packed.indexOf(` ${name}\n`)
  return at < 0 ? undefined : packed.slice(packed.lastIndexOf('\n', at) + 1, at)
}

/**
 * Deletes a branch unless it is checked out somewhere. `git branch -D` also writes the settings of the repository anew, which opens them to
 * whoever works in a sandbox in its main checkout.
 */
export async function deleteBranch(repository: string, branch: string): Promise<void> {
  const { ok, stdout } = await git(repository, ['for-each-ref', '--format=%(worktreepath)', `refs/heads/${branch}`])
  if (ok && stdout === '\n') await git(repository, ['update-ref', '--no-deref', '-d', `refs/heads/${branch}`])
}
