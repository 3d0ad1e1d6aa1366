import { git } from '../../git/git.ts'
import { ask } from '../refs.ts'

/** Where a pull request goes. */
export interface Remote {
  name: string
  url: string
}

/** The remote of a branch: the one it follows, else `origin`, else the only one there is. */
export async function remoteOf(repository: string, branch: string): Promise<Remote | undefined> {
  const { stdout } = await git(repository, ['remote'])
  const names = stdout.split('\n').filter(name => name !== '')
  const followed = await ask(repository, ['config', '--get', `branch.${branch}.remote`])
  const name = [followed, 'origin', names.length === 1 ? names[0] : undefined].find(
    each => each !== undefined && names.includes(each),
  )
  const url = name && (await ask(repository, ['remote', 'get-url', '--push', name]))
  return name && url ? { name, url } : undefined
}
