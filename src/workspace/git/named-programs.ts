import { runShort } from '../../base/process/short/run-short.ts'

/** Settings that take the place of the programs that a repository names, by whatever name, in whatever file. */
export async function namedPrograms(
  directory: string,
  { args, env }: { args: string[]; env: Record<string, string> },
): Promise<[key: string, value: string][]> {
  const limits = { timeoutMs: 10_000, maxBytes: 8_000_000 }
  const { code, stdout } = await runShort({ command: 'git', args, cwd: directory, env, ...limits })
  const names = new Set((code === 0 ? stdout : '').split('\0'))
  return [...names].flatMap((name): [string, string][] => {
    if (/^filter\..*\.(clean|smudge|process)$/is.test(name)) return [[name, '']]
    if (/^filter\..*\.required$/is.test(name)) return [[name, 'false']]
    if (/^merge\..*\.driver$/is.test(name)) return [[name, PLAIN_MERGE]]
    return []
  })
}

/** An empty one would take our side without a word; this is what git does with every other text. */
const PLAIN_MERGE = 'git merge-file --marker-size=%L %A %O %B'
