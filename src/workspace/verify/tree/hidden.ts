import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { git } from '../../git/git.ts'
import type { GitFolder } from '../../git/git-folder.ts'
import { indexMarks } from '../../git/index-marks.ts'
import { readNote } from '../../worktrees/notes/place-note.ts'

/**
 * Has git look again at files that are marked as unchanged or as not checked out: commands run on what lies there, and that is
 * what is to be committed. In a sparse checkout, what was left out when it was made stays so. The problem, where that does not work.
 */
export async function lookAtHidden({ top, own }: GitFolder): Promise<string | undefined> {
  const marks = await indexMarks(top, own)
  if (!marks) return 'git cannot tell which files are hidden from it'
  if (marks.unseen.length === 0) return undefined
  const input = marks.unseen.join('\0')
  const from = ['-z', '--stdin']
  const seen = await git(top, ['update-index', '--no-assume-unchanged', ...from], { input })
  if (!seen.ok) return seen.stderr.trim()
  const sparse = await git(top, ['config', '--bool', '--get', 'core.sparseCheckout'])
  if (sparse.stdout.trim() === 'true') return wholeAgain({ top, own })
  const back = await git(top, ['update-index', '--no-skip-worktree', ...from], { input })
  return back.ok ? undefined : back.stderr.trim()
}

/**
 * What an agent left out of its checkout would be left out of the gates too, its failing tests first. What was left out when the
 * worktree was made is nobody's trick, and git itself looks at those that are there all the same.
 */
async function wholeAgain({ top, own }: Pick<GitFolder, 'top' | 'own'>): Promise<string | undefined> {
  const { sparse, shared } = await readNote(top)
  if (shared === undefined) return undefined // nobody knows how it was made
  const file = join(own, 'info', 'sparse-checkout')
  if (sparse !== null && (await readFile(file, 'utf8').catch(() => '')) === sparse) return undefined
  if (sparse !== null) await writeFile(file, sparse)
  const back = await git(top, ['sparse-checkout', sparse === null ? 'disable' : 'reapply'])
  return back.ok ? undefined : back.stderr.trim()
}
