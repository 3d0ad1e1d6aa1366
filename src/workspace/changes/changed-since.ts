import { execFile } from 'node:child_process'
import { lstatSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** A repository that answers later than this is one for which a list of files is not worth the wait. */
const PATIENCE_MS = 5_000
/** Paths of a whole repository, at most. */
const MOST_BYTES = 8_000_000

/**
 * Files of a git work tree that were changed since a time, committed or not, as paths from `directory`; undefined where it is
 * in no repository or git cannot tell. Nothing has to be noted down at the beginning, so a restart in between costs nothing: a
 * file counts that differs from the last commit before that time, and that was touched after it.
 */
export async function changedSince(directory: string, since: number): Promise<string[] | undefined> {
  // A commit of the very second may be older or newer: the times of the files tell them apart.
  const before = `--before=@${Math.floor(since / 1000) - 1}`
  const [head, others, named] = await Promise.all([
    git(directory, ['rev-list', '-1', before, 'HEAD', '--']),
    git(directory, ['ls-files', '--others', '--exclude-standard', '-z']),
    git(directory, ['config', '--name-only', '-z', '--get-regexp', '^filter[.]']),
  ])
  if (others === undefined) return undefined
  const base = head?.trim() || EMPTY_TREE
  const differing = await git(
    directory,
    ['diff-index', '--name-only', '--relative', '--no-renames', '--ignore-submodules=all', '-z', base, '--'],
    switchedOff(listed(named)),
  )
  const paths = new Set([...listed(differing), ...listed(others)])
  return [...paths].filter(path => touchedSince(directory, path, since)).sort()
}

const EMPTY_TREE = '4b825dc642cb6eb9a060e54bf8d69288fbee4904'

/**
 * The agent may have written the repository's settings, and git runs programs that those name: only commands that compare names,
 * times and contents are called, which need no pager, signature or hook. Contents go through filters: those are switched off.
 */
function git(
  directory: string,
  args: readonly string[],
  more: Record<string, string> = {},
): Promise<string | undefined> {
  const safe = ['-c', 'core.fsmonitor=false', '-c', 'core.hooksPath=/dev/null', '--no-pager', '--literal-pathspecs']
  const env = {
    PATH: process.env['PATH'],
    LC_ALL: 'C',
    GIT_OPTIONAL_LOCKS: '0',
    // Older versions of git do not know the first one.
    GIT_NO_LAZY_FETCH: '1',
    GIT_ALLOW_PROTOCOL: 'none',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_TERMINAL_PROMPT: '0',
    ...more,
  }
  const options = { cwd: directory, env, timeout: PATIENCE_MS, maxBuffer: MOST_BYTES }
  return new Promise(resolve => {
    execFile('git', [...safe, ...args], options, (error, stdout) => resolve(error ? undefined : stdout))
  })
}

/** Settings that empty those of the filters: in the environment, where a name may hold any sign. */
function switchedOff(names: readonly string[]): Record<string, string> {
  const off = [...new Set(names)].flatMap((name, index) => [
    [`GIT_CONFIG_KEY_${index}`, name],
    [`GIT_CONFIG_VALUE_${index}`, name.endsWith('.required') ? 'false' : ''],
  ])
  return { ...Object.fromEntries(off), GIT_CONFIG_COUNT: String(off.length / 2) }
}

function listed(text: string | undefined): string[] {
  return (text ?? '').split('\0').filter(each => each !== '')
}

/** One that is gone is as new as the change of the directory in which it was. */
function touchedSince(directory: string, path: string, since: number): boolean {
  const whole = join(directory, path)
  const own = changeTime(whole)
  if (own !== undefined) return own >= since
  for (let parent = dirname(whole); parent.length >= directory.length; parent = dirname(parent)) {
    const time = changeTime(parent)
    if (time !== undefined) return time >= since
  }
  return false
}

/** The later of both: a time of writing can be set back, and an unpacked archive does. */
function changeTime(path: string): number | undefined {
  try {
    const stats = lstatSync(path, { throwIfNoEntry: false })
    return stats && Math.max(stats.mtimeMs, stats.ctimeMs)
  } catch {
    return undefined // nobody may look at it
  }
}
