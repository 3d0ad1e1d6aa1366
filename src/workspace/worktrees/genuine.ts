import { lstat, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import type { Worktree } from '../../domain/workspace/place.ts'

/**
 * Whether a directory is still the worktree that was made there. What lies in it belongs to the agent, the file `.git` too:
 * one that points anywhere else would have us look at another repository, and find that nothing is left to keep.
 */
export async function isGenuine({ top, repository }: Pick<Worktree, 'top' | 'repository'>): Promise<boolean> {
  return (await adminFolder({ top, repository })) !== undefined
}

/** What git keeps of a worktree within its repository; undefined where the two do not point at one another. */
export async function adminFolder({
  top,
  repository,
}: Pick<Worktree, 'top' | 'repository'>): Promise<string | undefined> {
  try {
    const file = join(top, '.git')
    if (!(await lstat(file)).isFile()) return undefined
    const own = await realpath(/^gitdir: ([\s\S]+?)\n?$/.exec(await readFile(file, 'utf8'))?.[1] ?? '')
    const name = relative(await realpath(join(repository, 'worktrees')), own)
    if (name === '' || name.startsWith('..') || name.includes('/')) return undefined
    const back = (await readFile(join(own, 'gitdir'), 'utf8')).replace(/\n$/, '')
    return (await realpath(dirname(back))) === (await realpath(top)) ? own : undefined
  } catch {
    return undefined // something of it is not there
  }
}

/** The same, and writes the file `.git` anew where it is gone or points elsewhere; a repository that was made there stays. */
export async function mend(row: Pick<Worktree, 'top' | 'repository'>): Promise<boolean> {
  if (await isGenuine(row)) return true
  if (!(await lstat(row.top).catch(() => undefined))?.isDirectory()) return false
  const file = join(row.top, '.git')
  const stats = await lstat(file).catch(() => undefined)
  if (stats?.isDirectory()) return false
  const own = await registeredAs(row)
  if (own === undefined) return false
  await rm(file, { force: true })
  await writeFile(file, `gitdir: ${own}\n`, { flag: 'wx' })
  return isGenuine(row)
}

/** The folder in the repository that says it belongs to this worktree. */
async function registeredAs({ top, repository }: Pick<Worktree, 'top' | 'repository'>): Promise<string | undefined> {
  const all = join(repository, 'worktrees')
  for (const name of await readdir(all).catch(() => [])) {
    const back = (await readFile(join(all, name, 'gitdir'), 'utf8').catch(() => '')).replace(/\n$/, '')
    if (back !== '' && (await realpath(dirname(back)).catch(() => '')) === (await realpath(top))) return join(all, name)
  }
  return undefined
}
