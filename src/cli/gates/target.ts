import { existsSync, realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import type { TaskGates } from '../../domain/workspace/task-gates.ts'
import type { Context } from '../context.ts'

/** What is meant: a directory, or a task with where it works. */
export interface GateTarget {
  project: string
  /** Where commands run. */
  directory: string
  task?: TaskGates | undefined
}

/** Finds what was named. Only a task is asked of the daemon; a directory stands for itself. */
export async function gateTarget(target: string, context: Context): Promise<GateTarget> {
  const path = resolve(target)
  if (existsSync(path)) return { project: realpathSync(path), directory: realpathSync(path) }
  const { openClient } = await import('../client.ts')
  const client = await openClient(context.places, context)
  const task = await client.request<TaskGates>('GET', `/tasks/${encodeURIComponent(target)}/gates`)
  return { project: task.project, directory: task.directory, task }
}
