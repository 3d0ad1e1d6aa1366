import { execFile } from 'node:child_process'
import type { Commit } from '../../domain/report/report.ts'

/** A night has some hundreds at most. */
const MOST = 2_000
const MOST_BYTES = 4_000_000
const PATIENCE_MS = 10_000
/** A repository must not start anything of its own while it is read. */
const HARMLESS = ['-c', 'core.fsmonitor=false', '-c', 'log.showSignature=false', '-c', 'core.pager=cat']

/** The commits that were made in a project between two moments, on any branch, oldest first; none where git has nothing to say. */
export async function commitsIn(project: string, since: number, until: number): Promise<Commit[]> {
  const range = [`--since=@${Math.floor(since / 1000) - 1}`, `--until=@${Math.ceil(until / 1000) + 1}`]
  const said = await git(project, ['log', '--branches', ...range, '--format=%H%x09%ct%x09%s', `--max-count=${MOST}`])
  const commits = said.split('\n').flatMap(line => {
    const [hash = '', seconds = '', ...subject] = line.split('\t')
    return /^[0-9a-f]{40,64}$/.test(hash) ? [{ hash, at: Number(seconds) * 1000, subject: subject.join('\t') }] : []
  })
  // Git counts in whole seconds.
  return commits.filter(({ at }) => at >= since - 1000 && at <= until).toSorted((one, other) => one.at - other.at)
}

function git(cwd: string, words: string[]): Promise<string> {
  const home = { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '' }
  // An object that is missing would be fetched, by programs that the repository's settings may name.
  const env = { ...home, LC_ALL: 'C', GIT_OPTIONAL_LOCKS: '0', GIT_NO_LAZY_FETCH: '1', GIT_ALLOW_PROTOCOL: 'none' }
  const options = { cwd, env, timeout: PATIENCE_MS, maxBuffer: MOST_BYTES, killSignal: 'SIGKILL' } as const
  return new Promise(resolve => {
    execFile('git', [...HARMLESS, ...words], options, (error, out) => resolve(error ? '' : out))
  })
}
