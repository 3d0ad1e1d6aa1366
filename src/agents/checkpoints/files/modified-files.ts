import type { ModifiedFile } from '../../../domain/checkpoint.ts'
import { hashFiles } from './hash-file.ts'
import { type ScanLimits, scanChanged } from './scan.ts'

export interface FindModified {
  project: string
  since: number
  /** What tools wrote to, the latest last. */
  written: string[]
  limits?: ScanLimits | undefined
  signal?: AbortSignal | undefined
}

/** More files than anybody checks by name; hashing them takes well under a second. */
export const MAX_FILES = 500

/** The files that changed while a session was at work, with what is in them now, and what could not be told. */
export async function modifiedFiles(find: FindModified): Promise<{ files: ModifiedFile[]; leftOut: string[] }> {
  const { project, written } = find
  const scan = await scanChanged(find)
  const newestFirst = scan.files.toSorted((a, b) => b.changedAt - a.changedAt).map(({ path }) => path)
  const paths = [...new Set([...written.toReversed(), ...newestFirst])]
  const states = await hashFiles(project, paths.slice(0, MAX_FILES))
  const files: ModifiedFile[] = []
  let unreadable = 0
  for (const [path, state] of states) {
    if (state === 'unreadable') unreadable += 1
    else files.push(state === 'gone' ? { path, hash: null, bytes: 0 } : { path, ...state })
  }
  const dropped = paths.length - MAX_FILES
  return {
    files: files.toSorted((a, b) => (a.path < b.path ? -1 : 1)),
    leftOut: [
      ...(dropped > 0 ? [`${dropped} more changed files are not listed.`] : []),
      ...(unreadable > 0 ? [`${unreadable} changed files could not be read.`] : []),
      ...(scan.complete ? [] : ['The project was not looked through to the end; other files may have changed.']),
    ],
  }
}
