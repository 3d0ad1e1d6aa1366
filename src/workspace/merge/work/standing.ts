import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { findGitFolder } from '../../git/git-folder.ts'

/** An operation that git has begun in a checkout and not finished. */
export interface Standing {
  kind: 'rebase' | 'merge' | 'cherry-pick' | 'revert' | 'bisect' | 'am'
  /** The branch that it is about, where HEAD is not on it meanwhile. */
  branch: string | undefined
}

/** What stands half done in a checkout, read from the files that git keeps of it. */
export async function standingIn(top: string): Promise<Standing | undefined> {
  const own = (await findGitFolder(top))?.own
  return own === undefined ? undefined : standingInFolder(own)
}

/** The same for the folder in which git keeps a checkout's own state. */
export async function standingInFolder(own: string): Promise<Standing | undefined> {
  for (const [kind, file, nameFile] of SIGNS) {
    if (!existsSync(join(own, file))) continue
    const name = nameFile && (await readFile(join(own, nameFile), 'utf8').catch(() => '')).trim()
    return { kind, branch: name ? name.replace(/^refs\/heads\//, '') : undefined }
  }
  return undefined
}

const SIGNS: [Standing['kind'], file: string, nameFile?: string][] = [
  ['rebase', 'rebase-merge', 'rebase-merge/head-name'],
  ['am', 'rebase-apply/applying'],
  ['rebase', 'rebase-apply', 'rebase-apply/head-name'],
  ['merge', 'MERGE_HEAD'],
  ['cherry-pick', 'CHERRY_PICK_HEAD'],
  ['revert', 'REVERT_HEAD'],
  ['bisect', 'BISECT_START', 'BISECT_START'],
]
