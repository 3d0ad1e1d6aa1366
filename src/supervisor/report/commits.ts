import { execFile } from 'node:child_process'
import type { Commit } from '../../domain/report/report.ts'
import type { Merge } from '../../domain/workspace/merge.ts'

/** A night has some hundreds at most. */
const MOST = 2_000
const MOST_BYTES = 4_000_000
const PATIENCE_MS = 10_000
/** A repository must not start anything of its own while it is read. */
const HARMLESS = ['-c', 'core.fsmonitor=false', '-c', 'log.showSignature=false', '-c', 'core.pager=cat']

/** The commits that were made in a project between two moments, on any branch, oldest first; none where git has nothing to say. */
export async function commitsIn(project: string, since: number, until: number): Promise<Commit[]> {
  const range = [`--since=@${Math.floor(since / 1000) - 1}`, `--until=@${Math.ceil(until / 1000) + 1}`]
  const commits = readCommits(await git(project, ['log', '--branches', ...range, FORMAT, `--max-count=${MOST}`]))
  // Git counts in whole seconds.
  return commits.filter(({ at }) => at >= since - 1000 && at <= until).toSorted((one, other) => one.at - other.at)
}

/**
 * The commits by which a merge moved its target, oldest first. A rebase makes as many anew as were verified; what was verified may
 * be forgotten by now, and then the last one stands for all.
 */
export async function commitsOf({ repository, base, head, result, strategy }: Landed): Promise<Commit[]> {
  if (base === null || head === null || result === null) return []
  const own = strategy === 'squash' ? 1 : Number(await git(repository, ['rev-list', '--count', `${base}..${head}`]))
  const which = strategy === 'merge' && own > 0 ? [`${base}..${head}`] : [`--max-count=${own || 1}`, result]
  return readCommits(await git(repository, ['log', FORMAT, `--max-count=${MOST}`, ...which])).reverse()
}

type Landed = Pick<Merge, 'repository' | 'base' | 'head' | 'result' | 'strategy'>

function readCommits(said: string): Commit[] {
  return said.split('\n').flatMap(line => {
    const [hash = '', seconds = '', ...subject] = line.split('\t')
    return /^[0-9a-f]{40,64}$/.test(hash) ? [{ hash, at: Number(seconds) * 1000, subject: subject.join('\t') }] : []
  })
}

const FORMAT = '--format=%H%x09%ct%x09%s'

function git(cwd: string, words: string[]): Promise<string> {
  const home = { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '' }
  // An object that is missing would be fetched, by programs that the repository's settings may name.
  const env = { ...home, LC_ALL: 'C', GIT_OPTIONAL_LOCKS: '0', GIT_NO_LAZY_FETCH: '1', GIT_ALLOW_PROTOCOL: 'none' }
  const options = { cwd, env, timeout: PATIENCE_MS, maxBuffer: MOST_BYTES, killSignal: 'SIGKILL' } as const
  return new Promise(resolve => {
    execFile('git', [...HARMLESS, ...words], options, (error, out) => resolve(error ? '' : out))
  })
}
