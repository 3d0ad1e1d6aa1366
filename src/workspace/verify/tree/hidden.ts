import { git } from '../../git/git.ts'
import type { GitFolder } from '../../git/git-folder.ts'
import { indexMarks } from '../../git/index-marks.ts'

/**
 * Has git look again at files that are marked as unchanged or as not checked out: commands run on what lies there, and that is
 * what is to be committed. In a sparse checkout, what is left out stays so. The problem, where that does not work.
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
  if (sparse.stdout.trim() === 'true') return undefined // git itself looks at those that are there all the same
  const back = await git(top, ['update-index', '--no-skip-worktree', ...from], { input })
  return back.ok ? undefined : back.stderr.trim()
}
