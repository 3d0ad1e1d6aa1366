import { lstatSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { git } from '../git/git.ts'

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
  const [head, others] = await Promise.all([
    told(directory, ['rev-list', '-1', before, 'HEAD', '--']),
    told(directory, ['ls-files', '--others', '--exclude-standard', '-z']),
  ])
  if (others === undefined) return undefined
  const base = head?.trim() || EMPTY_TREE
  const differing = await told(directory, [
    'diff-index',
    ...['--name-only', '--relative', '--no-renames', '--ignore-submodules=all', '-z', base, '--'],
  ])
  const paths = new Set([...listed(differing), ...listed(others)])
  return [...paths].filter(path => touchedSince(directory, path, since)).sort()
}

const EMPTY_TREE = '4b825dc642cb6eb9a060e54bf8d69288fbee4904'

/** What it prints; undefined where it cannot tell. */
async function told(directory: string, args: readonly string[]): Promise<string | undefined> {
  const { ok, stdout } = await git(directory, args, { timeoutMs: PATIENCE_MS, maxBytes: MOST_BYTES })
  return ok ? stdout : undefined
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
