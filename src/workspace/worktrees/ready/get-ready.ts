import { mkdir } from 'node:fs/promises'
import type { Worktree } from '../../../domain/workspace/place.ts'
import type { WorktreeParts } from '../parts.ts'
import { copyDependencies } from './dependencies.ts'
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
  const said = [
    ...(note ? [note] : []),
    ...(await copyDependencies(row, settings.link, AbortSignal.timeout(timeoutMs))),
  ]
  if (settings.setup !== undefined) {
    said.push(await setUp({ command: settings.setup, directory: row.directory, env, timeoutMs }))
  }
  if (said.length === 0) return null
  log.info({ task: row.task, attempt: row.attempt, said }, 'worktree made ready')
  return said.join('\n')
}
