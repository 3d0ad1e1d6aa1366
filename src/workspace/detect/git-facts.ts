import { dirname, join, resolve } from 'node:path'
import type { GitFacts } from '../../domain/project/project-facts.ts'
import type { Reader } from './reader.ts'

/**
 * What git's own files say of a project, read without running git: a repository that somebody else owns could have it start
 * programs. Undefined where the directory is in no checkout.
 */
export async function gitFacts(reader: Reader, project: string): Promise<GitFacts | undefined> {
  for (let top = resolve(project); ; top = dirname(top)) {
    const folder = await gitFolder(reader, top)
    if (folder) return { top, ...(await defaultBranch(reader, folder)) }
    if (top === dirname(top)) return undefined
  }
}

interface GitFolder {
  /** Where this checkout's HEAD lies. */
  own: string
  /** Where the branches of all checkouts lie; the same unless this is a worktree. */
  common: string
}

async function gitFolder(reader: Reader, top: string): Promise<GitFolder | undefined> {
  const entry = (await reader.list(top)).find(({ name }) => name === '.git')
  if (!entry) return undefined
  if (entry.kind === 'folder') {
    const folder = join(top, '.git')
    return (await textOf(reader, join(folder, 'HEAD'))) === undefined ? undefined : { own: folder, common: folder }
  }
  const pointer = /^gitdir: (.+)$/m.exec((await textOf(reader, join(top, '.git'))) ?? '')?.[1]
  if (pointer === undefined) return undefined
  const own = resolve(top, pointer.trim())
  const common = (await textOf(reader, join(own, 'commondir')))?.trim()
  return { own, common: common === undefined || common === '' ? own : resolve(own, common) }
}

/** What the remote calls its head; else `main` or `master` where there is one; else the branch that is checked out. */
async function defaultBranch(
  reader: Reader,
  { own, common }: GitFolder,
): Promise<Pick<GitFacts, 'default_branch' | 'branch_from'>> {
  const remote = refIn(await textOf(reader, join(common, 'refs/remotes/origin/HEAD')), 'refs/remotes/origin/')
  if (remote !== undefined) return { default_branch: remote, branch_from: 'origin/HEAD' }
  const current = refIn(await textOf(reader, join(own, 'HEAD')), 'refs/heads/')
  const packed = (await textOf(reader, join(common, 'packed-refs'))) ?? ''
  for (const name of ['main', 'master']) {
    const isThere =
      current === name ||
      packed.includes(` refs/heads/${name}\n`) ||
      (await textOf(reader, join(common, 'refs/heads', name))) !== undefined
    if (isThere) return { default_branch: name, branch_from: 'its name' }
  }
  return current === undefined
    ? { default_branch: undefined, branch_from: undefined }
    : { default_branch: current, branch_from: 'the branch that is checked out' }
}

/** A name that git would take for a branch; `.invalid` stands where the branches are in another form than files. */
function refIn(text: string | undefined, prefix: string): string | undefined {
  const name = text?.startsWith(`ref: ${prefix}`) ? text.slice(`ref: ${prefix}`.length).trim() : ''
  return /^[\p{L}\p{N}_][\p{L}\p{N}._/+@#=-]{0,199}$/u.test(name) ? name : undefined
}

async function textOf(reader: Reader, path: string): Promise<string | undefined> {
  const read = await reader.read(path)
  return read && 'text' in read ? read.text : undefined
}
