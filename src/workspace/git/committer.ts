import { personal } from './personal.ts'

/** Who a commit is by where neither the repository nor the person says a name. */
const NOBODY = { name: 'PerpetualCC', email: 'pcc@localhost' }

/** Variables that name who commits: the person, as their settings and those of the repository have it. */
export async function committer(directory: string): Promise<Record<string, string>> {
  const { stdout } = await personal(directory, ['config', '-z', '--get-regexp', '^user[.](name|email)$'])
  // Later lines come from nearer files, and count.
  const told = new Map(stdout.split('\0').map(line => splitAt(line, line.indexOf('\n'))))
  const name = told.get('user.name') || NOBODY.name
  const email = told.get('user.email') || NOBODY.email
  return { GIT_AUTHOR_NAME: name, GIT_AUTHOR_EMAIL: email, GIT_COMMITTER_NAME: name, GIT_COMMITTER_EMAIL: email }
}

function splitAt(line: string, at: number): [string, string] {
  return at < 0 ? [line, ''] : [line.slice(0, at), line.slice(at + 1)]
}
