import type { Finding } from '../../../domain/workspace/evidence.ts'
import { git } from '../../git/git.ts'
import { findGitFolder } from '../../git/git-folder.ts'
import { readNote } from '../../worktrees/notes/place-note.ts'
import { sharedIn } from '../../worktrees/notes/shared-files.ts'
import { languageOf } from '../diff/change/file-kind.ts'

/** What lies in a checkout and is ignored; a folder of which all is, ends in a slash. */
export async function ignoredIn(top: string): Promise<string[]> {
  const args = ['ls-files', '--others', '--ignored', '--exclude-standard', '--directory', '-z']
  return (await git(top, args)).stdout.split('\0').filter(path => path !== '')
}

/** A report with more of them is read by nobody. */
const MOST_TOLD = 10

/**
 * Source files that lie beside the work and that git was told to ignore since it began: the gates see them, and no commit holds
 * them. What was ignored before, and whole folders of what programs make, are left alone.
 */
export async function ignoredSources(top: string, base: string, listed: readonly string[]): Promise<Finding[]> {
  const shared = await newlyShared(top)
  const isSource = (path: string) => !path.endsWith('/') && languageOf(path) !== undefined
  const sources = shared ? listed : listed.filter(isSource)
  if (sources.length === 0) return []
  const told = await git(top, ['check-ignore', '-v', '-z', '--stdin'], { input: sources.join('\0') })
  const fields = told.stdout.split('\0')
  const known = new Map<string, string[]>()
  const findings: Finding[] = []
  for (let at = 0; at + 3 < fields.length && findings.length < MOST_TOLD; at += 4) {
    const [list = '', , pattern = '', file = ''] = fields.slice(at, at + 4)
    if (!known.has(list)) known.set(list, await linesAt(top, base, list))
    const isHidden = EXCLUDE.test(list)
      ? shared?.has(pattern)
      : isOfTheWork(list) && isSource(file) && !known.get(list)?.includes(pattern)
    if (!isHidden) continue
    const text = `${file} is ignored (${list}: ${pattern}), so that no commit holds it: commit it, or take it away.`
    findings.push({ code: 'diff.ignored', weight: 'block', text, file })
  }
  return findings
}

/** The list that all checkouts share and no commit holds. */
const EXCLUDE = /(^|\/)info\/exclude$/

/** Patterns that were put into it since the work began: an agent's git can write there, and hide any file. */
async function newlyShared(top: string): Promise<Set<string> | undefined> {
  const { shared } = await readNote(top)
  const folder = shared && (await findGitFolder(top))
  if (!shared || !folder) return undefined
  const now = (await sharedIn(folder.common, folder.own))['info/exclude'] ?? ''
  const before = shared['info/exclude'] ?? ''
  return now === before ? undefined : new Set(now.split(/\r?\n/)).difference(new Set(before.split(/\r?\n/)))
}

/** A list of the repository's own, which lies in the tree. The person's lists are theirs. */
function isOfTheWork(list: string): boolean {
  return /(^|\/)\.gitignore$/.test(list) && !list.startsWith('/')
}

async function linesAt(top: string, base: string, list: string): Promise<string[]> {
  if (!isOfTheWork(list)) return []
  const { stdout } = await git(top, ['cat-file', 'blob', `${base}:${list}`])
  return stdout.split(/\r?\n/)
}
