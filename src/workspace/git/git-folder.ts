import { lstat, readFile, realpath } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'

/** Where git keeps what belongs to a checkout. */
export interface GitFolder {
  /** The directory in which `.git` lies; the folder itself, for a repository without a checkout. */
  top: string
  /** Where this checkout's HEAD and index lie. */
  own: string
  /** What all checkouts share; the same unless this is a worktree. */
  common: string
}

/** What git would take for the repository of a directory, found without running git. */
export async function findGitFolder(directory: string): Promise<GitFolder | undefined> {
  for (let top = resolve(directory); ; top = dirname(top)) {
    const own = (await gitFolderIn(top)) ?? ((await isRepository(top)) ? top : undefined)
    if (own !== undefined) return { top, own, common: await commonOf(own) }
    if (top === dirname(top)) return undefined
  }
}

async function gitFolderIn(top: string): Promise<string | undefined> {
  const entry = join(top, '.git')
  const stats = await lstat(entry).catch(() => undefined)
  if (!stats) return undefined
  if (stats.isFile()) return pointedTo(top, entry)
  const folder = await realpath(entry).catch(() => entry)
  return (await isRepository(folder)) ? folder : undefined
}

async function pointedTo(top: string, file: string): Promise<string | undefined> {
  // The path may hold anything, line breaks too: only the last one is not part of it.
  const path = /^gitdir: ([\s\S]+?)\n?$/.exec(await textOf(file))?.[1]
  return path === undefined ? undefined : resolve(top, path)
}

async function isRepository(folder: string): Promise<boolean> {
  const parts = await Promise.all(
    ['HEAD', 'objects', 'refs'].map(name => lstat(join(folder, name)).catch(() => undefined)),
  )
  return parts.every(part => part !== undefined)
}

async function commonOf(own: string): Promise<string> {
  const path = (await textOf(join(own, 'commondir'))).replace(/\n$/, '')
  return path === '' ? own : resolve(own, path)
}

function textOf(file: string): Promise<string> {
  return readFile(file, 'utf8').catch(() => '')
}
