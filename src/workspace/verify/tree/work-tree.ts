import { copyFile, mkdtemp, rm, stat, utimes } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { git } from '../../git/git.ts'
import type { GitFolder } from '../../git/git-folder.ts'

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
