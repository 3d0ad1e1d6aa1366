import { git } from '../git/git.ts'

/** The commits of branches, by name; one that is not there is missing. */
export async function branchTips(repository: string, branches: readonly string[]): Promise<Map<string, string>> {
  const names = branches.map(branch => `refs/heads/${branch}`)
  const { stdout } = await git(repository, ['for-each-ref', '--format=%(objectname) %(refname)', ...names])
  const found = stdout.split('\n').flatMap((line): [string, string][] => {
    const [commit = '', ref = ''] = line.split(' ')
    // A pattern fits what lies below it too.
    return names.includes(ref) ? [[ref.slice('refs/heads/'.length), commit]] : []
  })
  return new Map(found)
}

/** Whether a commit is, or comes before, another one. */
export async function isWithin(repository: string, commit: string, other: string): Promise<boolean> {
  return commit === other || (await git(repository, ['merge-base', '--is-ancestor', commit, other])).ok
}

/** One line that git says; undefined where it says nothing or fails. */
export async function ask(directory: string, args: readonly string[]): Promise<string | undefined> {
  const { ok, stdout } = await git(directory, args)
  return ok ? stdout.replace(/\n$/, '') || undefined : undefined
}

/** Whether two commits hold the same files. */
export async function isSameTree(repository: string, one: string, other: string): Promise<boolean> {
  if (one === other) return true
  const trees = await ask(repository, ['rev-parse', `${one}^{tree}`, `${other}^{tree}`])
  const [first, second] = trees?.split('\n') ?? []
  return first !== undefined && first === second
}

/** What a commit holds. */
export function treeOf(repository: string, commit: string): Promise<string | undefined> {
  return ask(repository, ['rev-parse', '--verify', '--quiet', `${commit}^{tree}`])
}
