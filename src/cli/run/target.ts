import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { AppError } from '../../base/errors.ts'
import type { RunTarget } from '../../domain/runs/run.ts'
import type { TaskView } from '../../domain/task.ts'
import type { Connection } from '../connection/connection.ts'
import { RemoteError } from '../report.ts'

export interface NamedTarget {
  project: string
  target: RunTarget
}

/**
 * What a person means by `pcc run <target>`: a path is a project, an id or the beginning of one is a task, and what else there
 * is, is a feature of the project. A word that is a feature and a directory at once is the feature: `./word` is the directory.
 */
export async function resolveTarget(
  typed: string,
  { project, client }: { project: string | undefined; client: Connection },
): Promise<NamedTarget> {
  const here = resolve(project ?? '.')
  if (isPath(typed)) return { project: directoryAt(typed), target: { kind: 'project' } }
  if (typed.startsWith('t-')) return taskTarget((await client.request<Found>('GET', taskPath(typed))).task)
  const { tasks } = await client.request<{ tasks: TaskView[] }>(
    'GET',
    `/tasks?project=${encodeURIComponent(here)}&feature=${encodeURIComponent(typed)}&limit=1`,
  )
  if (tasks.length > 0) return { project: here, target: { kind: 'feature', name: typed } }
  const task = /^[0-9a-f]{2,6}$/i.test(typed) ? await taskIfThere(typed, client) : undefined
  if (task) return taskTarget(task)
  if (isDirectory(typed)) return { project: resolve(typed), target: { kind: 'project' } }
  throw new AppError('run_target_unknown', { target: typed })
}

interface Found {
  task: TaskView
}

function isPath(typed: string): boolean {
  return typed === '.' || typed === '..' || typed.includes('/') || typed === ''
}

function taskPath(ref: string): string {
  return `/tasks/${encodeURIComponent(ref)}`
}

async function taskIfThere(ref: string, client: Connection): Promise<TaskView | undefined> {
  try {
    return (await client.request<Found>('GET', taskPath(ref))).task
  } catch (error) {
    if (error instanceof RemoteError && error.code === 'task_not_there') return undefined
    throw error
  }
}

function taskTarget({ id, project }: TaskView): NamedTarget {
  return { project, target: { kind: 'task', id } }
}

/** Looked at here as well as by the daemon: a mistyped path should not start one. */
function directoryAt(path: string): string {
  const found = statSync(resolve(path), { throwIfNoEntry: false })
  if (!found) throw new AppError('project_missing', { path })
  if (!found.isDirectory()) throw new AppError('project_not_directory', { path })
  return resolve(path)
}

function isDirectory(path: string): boolean {
  return statSync(resolve(path), { throwIfNoEntry: false })?.isDirectory() === true
}
