import type { Finding } from '../../../domain/workspace/evidence.ts'
import { findGitFolder, type GitFolder } from '../../git/git-folder.ts'
import type { VerifyRequest } from '../request.ts'
import { commitLeftovers } from './commit-leftovers.ts'
import { nameWorkTree } from './work-tree.ts'

/** What is looked at. Without git nothing has a name, and nothing can be compared or put back. */
export interface Subject {
  commit: string | null
  tree: string | null
  folder: GitFolder | undefined
}

export type NamedSubject = { ok: true; subject: Subject } | { ok: false; status: 'failed' | 'broken'; finding: Finding }

/** Gives what is looked at a name: a commit on the branch of its place; in a project itself, only the name of its tree. */
export async function nameSubject({ place, directory, task }: VerifyRequest): Promise<NamedSubject> {
  if (place) {
    const done = await commitLeftovers(place, task.title)
    if (!done.ok) return { ok: false, status: done.weight, finding: done.finding }
    return { ok: true, subject: { commit: done.commit, tree: done.tree, folder: done.folder } }
  }
  const folder = await findGitFolder(directory)
  if (!folder) return { ok: true, subject: { commit: null, tree: null, folder: undefined } }
  const tree = await nameWorkTree(folder)
  if (tree !== undefined) return { ok: true, subject: { commit: null, tree, folder } }
  const text = `git cannot name what lies in ${directory}: look at it with git status.`
  return { ok: false, status: 'broken', finding: { code: 'git.broken', weight: 'block', text } }
}
