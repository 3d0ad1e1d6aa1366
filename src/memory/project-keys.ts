import { createHash } from 'node:crypto'
import { realpathSync } from 'node:fs'

/** Runs git in the project; passed in, because the part that knows how to run it safely is a neighbour. */
type RunGit = (project: string, args: readonly string[]) => Promise<{ ok: boolean; stdout: string }>

/**
 * The keys of a project in memory: what is learned is written under the first, and read under all of them.
 *
 * A project in git is known by the first commit of its history and by its folder in the repository, so that it keeps its memory when it is
 * moved, and a clone has the same. Another one, or one whose history is cut short (a shallow clone), is known by its folder: moved, it starts
 * anew. The folder is a key of every project, so that nothing is lost when a project gets its first commit.
 *
 * Nothing that lies in the project can choose its key, except by its whole history: forks of one repository share their memory on this machine.
 */
export async function projectKeys(project: string, git: RunGit): Promise<[string, ...string[]]> {
  const folder = `dir-${digest(realPath(project))}`
  const asked = await git(project, ['rev-parse', '--is-shallow-repository', '--show-prefix'])
  const [isShallow, prefix = ''] = asked.stdout.split('\n')
  if (!asked.ok || isShallow !== 'false') return [folder]
  const first = await git(project, ['rev-list', '--max-parents=0', '--first-parent', 'HEAD'])
  const [root] = first.stdout.split('\n')
  return first.ok && root ? [`git-${digest(`${root}\0${prefix}`)}`, folder] : [folder]
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}

function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path // it was removed; its memory is found by the name that it had
  }
}
