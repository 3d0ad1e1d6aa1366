import { readdirSync, realpathSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { readTextIfAny } from '../../base/files.ts'
import { lookUpEntry, realPathIfAny } from '../../base/is-there.ts'

/** The folders in which git keeps a checkout's data. */
export interface GitFolder {
  /** The directory that contains `.git`; the folder itself, for a bare repository. */
  top: string
  /** The folder with this checkout's HEAD and index. */
  own: string
  /** The folder that all checkouts share; the same as `own` unless this is a worktree. */
  common: string
}

/** Finds the repository of a directory as git would, without running git. Undefined if there is none, or its `.git` is broken. */
export async function findGitFolder(directory: string): Promise<GitFolder | undefined> {
  const found = await readGitFolder(directory)
  return typeof found === 'string' ? undefined : found
}

/**
 * `findGitFolder`, or why the repository of a directory is not to be used. An entry `.git` decides: git would pass over a broken one
 * and take the directory itself, or one above it, for a repository, and an agent could have made that one.
 */
export async function readGitFolder(directory: string): Promise<GitFolder | string | undefined> {
  for (let top = resolve(directory); ; top = dirname(top)) {
    const entry = join(top, '.git')
    const stats = lookUpEntry(entry)
    if (stats && !(stats.isDirectory() && isEmptyFolder(entry))) {
      const read = stats.isFile() ? readGitFile(top, entry) : readGitDirectory(top, entry)
      return read.catch((thrown: unknown) => `${entry} cannot be read: ${(thrown as Error).message}`)
    }
    const bare = await readBareRepository(top)
    if (bare) return bare
    if (top === dirname(top)) return undefined
  }
}

/** An empty `.git` is none, as for git: an agent that is killed may leave one in the folder where it worked. */
export function isEmptyFolder(path: string): boolean {
  try {
    return readdirSync(path).length === 0
  } catch {
    return false
  }
}

/** The main checkout of a repository, where its folder is in one. */
export function mainCheckouts({ common }: Pick<GitFolder, 'common'>): string[] {
  return basename(common) === '.git' ? [dirname(common)] : []
}

async function readGitDirectory(top: string, entry: string): Promise<GitFolder | string> {
  // An agent in a folder without a repository could have put it there, and pcc would write in that of another project.
  if (lookUpEntry(entry)?.isSymbolicLink())
    return `${entry} is a link. If the repository is yours: git init --separate-git-dir='${realPathIfAny(entry) ?? entry}' '${top}'`
  const own = realpathSync.native(entry)
  if ((await readTextIfAny(join(own, 'commondir'))) !== undefined)
    return `${join(own, 'commondir')} names another repository, which only worktrees do. Remove it: rm '${join(own, 'commondir')}'`
  return isRepository(own, own)
    ? { top, own, common: own }
    : `${entry} is no git repository: HEAD, objects or refs are missing`
}

/** The file `.git` of a worktree, of a submodule or of a checkout with a separate git folder. */
async function readGitFile(top: string, file: string): Promise<GitFolder | string> {
  const path = readPath(await readTextIfAny(file), 'gitdir: ')
  if (path === undefined) return `${file} names no git folder`
  const own = resolve(top, path)
  const common = await findCommon(own)
  if (common === undefined) return `${join(own, 'commondir')} names no git folder`
  if (!isRepository(own, common)) return `${file} leads to ${own}, which is no git repository`
  const why = own === common ? await whyNotSeparate(top, own) : await whyNotWorktree(top, { own, common })
  return why === undefined ? { top, own, common } : `${file} leads to ${own}, ${why}`
}

/** An agent can write the file `.git`, so the folder that it names has to name the checkout too. */
async function whyNotWorktree(top: string, { own, common }: Omit<GitFolder, 'top'>): Promise<string | undefined> {
  const back = readPath(await readTextIfAny(join(own, 'gitdir')))
  const isBack = back !== undefined && isSame(resolve(own, back), join(top, '.git'))
  if (isBack && isSame(dirname(own), join(common, 'worktrees'))) return undefined
  return `which belongs to another worktree. If you moved it: git worktree repair '${top}'`
}

/** A submodule's folder names its checkout; one that `git init --separate-git-dir` made does not, and is nobody else's. */
async function whyNotSeparate(top: string, own: string): Promise<string | undefined> {
  const config = await readTextIfAny(join(own, 'config'))
  const worktree = /^[ \t]*worktree[ \t]*=[ \t]*(.+?)[ \t]*$/im.exec(config ?? '')?.[1]?.replace(/^"(.*)"$/, '$1')
  const isOurs =
    worktree === undefined
      ? config !== undefined && basename(own) !== '.git' && !/^[ \t]*bare[ \t]*=[ \t]*true/im.test(config)
      : isSame(resolve(own, worktree), top)
  if (isOurs) return undefined
  return `which belongs to another checkout. If it is yours: git --git-dir='${own}' config core.worktree '${top}'`
}

/** A repository without a checkout, or a folder `.git` itself. */
async function readBareRepository(top: string): Promise<GitFolder | undefined> {
  const common = await findCommon(top).catch(() => undefined)
  if (common === undefined || !isRepository(top, common)) return undefined
  if (common !== top && !isSame(dirname(top), join(common, 'worktrees'))) return undefined
  return { top, own: top, common }
}

function isRepository(own: string, common: string): boolean {
  const paths = [join(own, 'HEAD'), join(common, 'objects'), join(common, 'refs')]
  return paths.every(path => lookUpEntry(path) !== undefined)
}

async function findCommon(own: string): Promise<string | undefined> {
  const text = await readTextIfAny(join(own, 'commondir'))
  if (text === undefined) return own
  const path = readPath(text)
  return path === undefined ? undefined : resolve(own, path)
}

/**
 * The path in one of git's files. It may contain anything, even line breaks; only the last one is not part of it. Git itself cuts
 * off more (`\r`, several line breaks, all after a zero byte), but never writes it: such a file would mean two paths.
 */
function readPath(text: string | undefined, prefix = ''): string | undefined {
  if (!text?.startsWith(prefix)) return undefined
  const path = text.slice(prefix.length).replace(/\n$/, '')
  return path === '' || /[\r\n]$|\0/.test(path) ? undefined : path
}

function isSame(one: string, other: string): boolean {
  const real = realPathIfAny(one)
  return real !== undefined && real === realPathIfAny(other)
}
