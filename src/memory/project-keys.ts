import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

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
 * An agent can write such a history, so the key by which a folder is first known is kept under `kept`: with another history the project has
 * only the memory of its folder.
 */
export async function projectKeys(project: string, git: RunGit, kept: KeptKeys): Promise<[string, ...string[]]> {
  const folder = `dir-${digest(realPath(project))}`
  const found = await findHistoryKey(project, git)
  if (found === undefined) return [folder]
  const known = readKept(kept.in, folder)
  if (known === undefined && !kept.onlyReads) keep(kept.in, folder, found)
  return known === undefined || known === found ? [found, folder] : [folder]
}

/** Where the keys of projects are kept: memory's own folder, which no agent can reach. */
export interface KeptKeys {
  in: string
  onlyReads?: boolean | undefined
}

async function findHistoryKey(project: string, git: RunGit): Promise<string | undefined> {
  const asked = await git(project, ['rev-parse', '--is-shallow-repository', '--show-prefix'])
  const [isShallow, prefix = ''] = asked.stdout.split('\n')
  if (!asked.ok || isShallow !== 'false') return undefined
  const first = await git(project, ['rev-list', '--max-parents=0', '--first-parent', 'HEAD'])
  const [root] = first.stdout.split('\n')
  return first.ok && root ? `git-${digest(`${root}\0${prefix}`)}` : undefined
}

function readKept(memory: string, folder: string): string | undefined {
  try {
    return /^git-[0-9a-f]{16}$/.exec(readFileSync(join(memory, 'keys', folder), 'utf8'))?.[0]
  } catch {
    return undefined // it is seen for the first time
  }
}

function keep(memory: string, folder: string, key: string): void {
  try {
    mkdirSync(join(memory, 'keys'), { recursive: true })
    writeFileSync(join(memory, 'keys', folder), key)
  } catch {
    // On a full disk it is kept the next time.
  }
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
