import { lstat, readFile, realpath } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'

/** The folders in which git keeps a checkout's data. */
export interface GitFolder {
  /** The directory that contains `.git`; the folder itself, for a bare repository. */
  top: string
  /** The folder with this checkout's HEAD and index. */
  own: string
  /** The folder that all checkouts share; the same as `own` unless this is a worktree. */
  common: string
}

/** Finds the repository of a directory as git would, without running git. */
export async function findGitFolder(directory: string): Promise<GitFolder | undefined> {
  for (let top = resolve(directory); ; top = dirname(top)) {
    const own = (await findGitFolderIn(top)) ?? ((await isRepository(top)) ? top : undefined)
    if (own !== undefined) return { top, own, common: await findCommon(own) }
    if (top === dirname(top)) return undefined
  }
}

async function findGitFolderIn(top: string): Promise<string | undefined> {
  const entry = join(top, '.git')
  const stats = await lstat(entry).catch(() => undefined)
  if (!stats) return undefined
  if (stats.isFile()) return readGitLink(top, entry)
  const folder = await realpath(entry).catch(() => entry)
  return (await isRepository(folder)) ? folder : undefined
}

async function readGitLink(top: string, file: string): Promise<string | undefined> {
  // The path may contain anything, even line breaks: only the last one is not part of it.
  const path = /^gitdir: ([\s\S]+?)\n?$/.exec(await readText(file))?.[1]
  return path === undefined ? undefined : resolve(top, path)
}

async function isRepository(folder: string): Promise<boolean> {
  const parts = await Promise.all(
    ['HEAD', 'objects', 'refs'].map(name => lstat(join(folder, name)).catch(() => undefined)),
  )
  return parts.every(part => part !== undefined)
}

async function findCommon(own: string): Promise<string> {
  const path = (await readText(join(own, 'commondir'))).replace(/\n$/, '')
  return path === '' ? own : resolve(own, path)
}

function readText(file: string): Promise<string> {
  return readFile(file, 'utf8').catch(() => '')
}
