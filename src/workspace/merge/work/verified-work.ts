import { git } from '../../git/git.ts'

/** Verified work under the name that it was verified by: a rebase or a squash gives the target the same in other commits. */
const PREFIX = 'refs/pcc/merged'

/** Keeps the commit of verified work. Done again it is the same; false where git refuses. */
export async function keepVerified(repository: string, task: string, commit: string): Promise<boolean> {
  return (await git(repository, ['update-ref', `${PREFIX}/${task}/${commit.slice(0, 12)}`, commit])).ok
}

/** Forgets verified work that was committed before a time, in seconds, and gives how much. */
export async function forgetVerified(repository: string, before: number): Promise<number> {
  const format = '--format=%(committerdate:unix) %(objectname) %(refname)'
  const { stdout } = await git(repository, ['for-each-ref', format, PREFIX])
  const old = stdout.split('\n').flatMap(line => {
    const [time, commit, ref] = line.split(' ')
    return ref !== undefined && Number(time) < before ? [`delete ${ref} ${commit}\n`] : []
  })
  if (old.length === 0) return 0
  return (await git(repository, ['update-ref', '--stdin'], { input: old.join('') })).ok ? old.length : 0
}
