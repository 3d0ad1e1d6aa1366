import type { ChangedFile } from '../../domain/workspace/landing/work-view.ts'
import { git } from '../git/git.ts'

export interface DiffBetween {
  files: ChangedFile[]
  diff: string
  /** There is more of it than is told. */
  cut: boolean
}

/** As much as a person pages through; git is not asked for more than it may say. */
const MOST_BYTES = 8_000_000

/** What lies between two trees of a repository; undefined where git cannot tell. Nothing that the repository names is run. */
export async function diffBetween(
  directory: string,
  { from, to, stat }: { from: string; to: string; stat: boolean },
): Promise<DiffBetween | undefined> {
  const plain = ['--no-color', '--no-ext-diff', '--no-textconv', '--find-renames']
  const counted = await git(directory, ['diff', ...plain, '--numstat', '-z', from, to, '--'])
  if (!counted.ok) return undefined
  const files = filesIn(counted.stdout)
  if (stat) return { files, diff: '', cut: false }
  const told = await git(directory, ['diff', ...plain, from, to, '--'])
  // One that is too much for a reader is told in numbers alone.
  if (!told.ok) return { files, diff: '', cut: true }
  const isLong = told.stdout.length > MOST_BYTES
  return { files, diff: isLong ? told.stdout.slice(0, MOST_BYTES).toWellFormed() : told.stdout, cut: isLong }
}

/** `added<TAB>removed<TAB>path`, or for what was renamed an empty path with both names behind it. */
function filesIn(numstat: string): ChangedFile[] {
  const parts = numstat.split('\0')
  const files: ChangedFile[] = []
  for (let at = 0; at < parts.length; at += 1) {
    const [, added, removed, path] = /^(\d+|-)\t(\d+|-)\t([\s\S]*)$/.exec(parts[at] ?? '') ?? []
    if (added === undefined || removed === undefined || path === undefined) continue
    const name = path === '' ? `${parts[at + 1]} → ${parts[at + 2]}` : path
    if (path === '') at += 2
    files.push({ path: name, added: numberIn(added), removed: numberIn(removed) })
  }
  return files
}

function numberIn(text: string): number | null {
  return text === '-' ? null : Number(text)
}
