import { git } from '../git/git.ts'

/** What a checkout is on, and what in it is in no commit. */
export interface CheckoutStatus {
  /** Undefined where HEAD is on no branch. */
  branch: string | undefined
  commit: string | undefined
  /** Changed, staged, in conflict or, where they were asked for, unknown to git. */
  loose: string[]
}

/** One call of git for all of it; the words of git where it fails. */
export async function statusOf(top: string, untracked: 'all' | 'no'): Promise<CheckoutStatus | string> {
  const args = ['status', '--porcelain=v2', '--branch', `--untracked-files=${untracked}`, '--no-renames', '-z']
  const { ok, stdout, stderr } = await git(top, args)
  if (!ok) return `git status fails in ${top}: ${stderr.trim()}`
  const lines = stdout.split('\0').filter(line => line !== '')
  const headed = (name: string) => lines.find(line => line.startsWith(`# branch.${name} `))?.slice(name.length + 10)
  const [branch, commit] = [headed('head'), headed('oid')]
  return {
    branch: branch === '(detached)' ? undefined : branch,
    commit: commit === '(initial)' ? undefined : commit,
    loose: lines.filter(line => !line.startsWith('# ')).map(pathOf),
  }
}

/** `1 .M N... 100644 100644 100644 <oid> <oid> <path>`, `u` with two fields more, `? <path>`. */
function pathOf(line: string): string {
  const fields = line.startsWith('1 ') ? 8 : line.startsWith('u ') ? 10 : 1
  return line.split(' ').slice(fields).join(' ')
}
