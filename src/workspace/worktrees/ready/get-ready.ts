import { mkdir } from 'node:fs/promises'
import { join, relative } from 'node:path'
import type { Worktree } from '../../../domain/workspace/place.ts'
import { copyDependencies } from '../dependencies/copy.ts'
import { noteDependencies } from '../dependencies/note-dependencies.ts'
import { forgetNote } from '../notes/place-note.ts'
import { noteShared } from '../notes/shared-files.ts'
import type { WorktreeParts } from '../parts.ts'
import { setUp } from './set-up.ts'
import { writeTaskFile } from './task-file.ts'

/**
 * Everything a worktree needs beside its files: our note, the dependencies, the person's set-up command. What goes wrong is
 * noted for the person and stops nobody: whether the work holds is for the gates to say.
 */
export async function getReady(row: Worktree, { settings, env, log }: WorktreeParts): Promise<string | null> {
  await mkdir(row.directory, { recursive: true }) // a project may be a folder that was never committed
  const timeoutMs = settings.setup_seconds * 1000
  const note = await writeTaskFile(row)
  await forgetNote(row.top)
  await noteShared(row, [row.base])
  const { said: words, copied } = await copyDependencies(row, settings.link, AbortSignal.timeout(timeoutMs))
  const said = [...(note ? [note] : []), ...words]
  if (settings.setup !== undefined) {
    said.push((await setUp({ command: settings.setup, directory: row.directory, env, timeoutMs })).said)
  }
  const inside = relative(row.top, row.directory)
  const hasSetUp = settings.setup !== undefined
  await noteDependencies(row.top, { copied: copied.map(name => join(inside, name)), hasSetUp })
  if (said.length === 0) return null
  log.info({ task: row.task, attempt: row.attempt, said }, 'worktree made ready')
  return said.join('\n')
}
