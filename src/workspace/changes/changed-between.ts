import { git } from '../git/git.ts'

/**
 * Files that differ between a commit and another one, or what lies in the work tree, as paths from `directory`; undefined where git
 * cannot tell.
 */
export async function changedBetween(
  directory: string,
  { base, head }: { base: string; head?: string | undefined },
): Promise<string[] | undefined> {
  const how = ['--name-only', '--relative', '--no-renames', '--ignore-submodules=all', '-z']
  const [differing, others] = await Promise.all([
    git(directory, ['diff', ...how, base, ...(head === undefined ? [] : [head]), '--']),
    head === undefined ? git(directory, ['ls-files', '--others', '--exclude-standard', '-z']) : undefined,
  ])
  if (!differing.ok || others?.ok === false) return undefined
  const paths = `${differing.stdout}${others?.stdout ?? ''}`.split('\0').filter(path => path !== '')
  return [...new Set(paths)].sort()
}
