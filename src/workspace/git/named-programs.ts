import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** Settings that take the place of the programs that a repository names, by whatever name, in whatever file. */
export async function namedPrograms(
  directory: string,
  { args, env }: { args: string[]; env: Record<string, string> },
): Promise<[key: string, value: string][]> {
  const options = { cwd: directory, env, timeout: 10_000, maxBuffer: 8_000_000 }
  const { stdout } = await promisify(execFile)('git', args, options).catch(() => ({ stdout: '' }))
  const names = new Set(stdout.split('\0'))
  return [...names].flatMap((name): [string, string][] => {
    if (/^filter\..*\.(clean|smudge|process)$/is.test(name)) return [[name, '']]
    if (/^filter\..*\.required$/is.test(name)) return [[name, 'false']]
    if (/^merge\..*\.driver$/is.test(name)) return [[name, PLAIN_MERGE]]
    return []
  })
}

/** An empty one would take our side without a word; this is what git does with every other text. */
const PLAIN_MERGE = 'git merge-file --marker-size=%L %A %O %B'
