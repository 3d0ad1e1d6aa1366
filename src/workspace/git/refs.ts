import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import { readRegularFile } from '../../base/files.ts'
import { git } from './git.ts'

/** The commits of branches, by name; without the branches that do not exist. */
export async function readBranchTips(repository: string, branches: readonly string[]): Promise<Map<string, string>> {
  const names = branches.map(branch => `refs/heads/${branch}`)
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
 * (reftable) or point to other refs: then git has to be asked.
 */
export async function readRefs(common: string, names: readonly string[]): Promise<Map<string, string> | undefined> {
  if (await lstat(join(common, 'reftable')).catch(() => undefined)) return undefined
  const packed = (await readRegularFile(join(common, 'packed-refs'), MOST_BYTES).catch(() => '')).toString()
  const refs = new Map<string, string>()
  for (const name of names) {
    const own = await readRegularFile(join(common, name)).catch(() => undefined)
    const text = own?.toString().trimEnd() ?? findPackedOid(packed, name)
    if (text === undefined) continue
    if (!/^([0-9a-f]{40}|[0-9a-f]{64})$/.test(text)) return undefined
    refs.set(name, text)
  }
  return refs
}

/** Repositories of many thousand branches have some megabytes. */
const MOST_BYTES = 1_000_000_000

function findPackedOid(packed: string, name: string): string | undefined {
  const at = packed.indexOf(` ${name}\n`)
  return at < 0 ? undefined : packed.slice(packed.lastIndexOf('\n', at) + 1, at)
}
