import type { Checkpoint, FileChange } from '../../domain/checkpoint.ts'
import { hashFiles } from './files/hash-file.ts'
import { type ScanLimits, scanChanged } from './files/scan.ts'

/**
 * Files of the project that are not as the checkpoint knows them: listed ones by their hash, others by the time of their
 * last change. A file that nobody had listed and that is gone now cannot be known.
 */
export async function changedSince(
  checkpoint: Checkpoint,
  { limits, signal }: { limits?: ScanLimits | undefined; signal?: AbortSignal | undefined } = {},
): Promise<FileChange[]> {
  const { project_path: project, modified_files: listed, timestamp } = checkpoint
  const changes: FileChange[] = []
  const states = await hashFiles(
    project,
    listed.map(({ path }) => path),
  )
  for (const { path, hash } of listed) {
    const state = states.get(path) ?? 'unreadable'
    if (state === 'gone') {
      if (hash !== null) changes.push({ path, how: 'deleted' })
    } else if (hash === null) changes.push({ path, how: 'created' })
    else if (state === 'unreadable' || state.hash !== hash) changes.push({ path, how: 'changed' })
  }
  const known = new Set(listed.map(({ path }) => path))
  const { files } = await scanChanged({ project, since: timestamp, limits, signal })
  for (const { path, isNew } of files) {
    if (!known.has(path)) changes.push({ path, how: isNew ? 'created' : 'changed' })
  }
  return changes.toSorted((a, b) => (a.path < b.path ? -1 : 1))
}
