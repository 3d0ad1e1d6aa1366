import { readdir } from 'node:fs/promises'
import { join } from 'node:path'

/** More than any repository has; looking through so many takes a second. */
const MOST_FOLDERS = 100_000
/** Folders read at once: one after another takes ten times as long. */
const AT_ONCE = 64

export interface ClaudeFolders {
  /** Every directory below the project, not the project itself, that has a `.claude` in it. */
  holders: string[]
  /** There are more folders than were looked through. */
  isCut: boolean
}

/**
 * Looks through a whole project, `node_modules` included: the agent picks up `.claude/skills` in any folder whose files it
 * touches. Links are not followed: where they lead to is in the project and seen there, or outside of it and asked about.
 * `.git` cannot come with a clone.
 */
export async function claudeFoldersBelow(project: string, most = MOST_FOLDERS): Promise<ClaudeFolders> {
  const waiting = [project]
  const holders: string[] = []
  const look = async (folder: string) => {
    for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
      if (entry.name === '.claude' && folder !== project) holders.push(folder)
      if (entry.isDirectory() && entry.name !== '.git') waiting.push(join(folder, entry.name))
    }
  }
  let looked = 0
  while (waiting.length > 0 && looked < most) {
    const batch = waiting.splice(-AT_ONCE)
    looked += batch.length
    await Promise.all(batch.map(look))
  }
  return { holders: holders.sort(), isCut: waiting.length > 0 }
}
