import { copyFile, mkdtemp, rm } from 'node:fs/promises'
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
    await copyFile(join(own, 'index'), index).catch(() => undefined) // a new repository has none
    const env = { GIT_INDEX_FILE: index }
    const added = await git(top, ['add', '--all', '--', '.'], { env })
    const named = added.ok ? await git(top, ['write-tree'], { env }) : added
    return named.ok ? named.stdout.trim() : undefined
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
}
