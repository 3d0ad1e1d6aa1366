import { readFileSync } from 'node:fs'
import { AppError } from '../base/errors.ts'
import type { StartSession } from '../domain/api.ts'
import { parseRequirements, queueFromRequirements } from '../tasks/requirements/requirements.ts'

/** The part of a start request that says what the session should do. */
export type RequestedWork = Pick<StartSession, 'task' | 'tasks' | 'requirements'>

/**
 * Reads the work that a requirements file asks for. Together with a task, the whole file is appended to that task. Without
 * one, the open tasks of the file become the queue; a file that lists no tasks is a single task.
 */
export async function readRequestedWork(path: string, task: string | undefined): Promise<RequestedWork> {
  const text = readRequirements(path)
  const parsed = await parseRequirements(path, text)
  const { requirements } = parsed
  const wholeFile = `Requirements (${path}):\n\n${text.trim()}`
  if (task !== undefined) return { task: `${task}\n\n${wholeFile}`, requirements }
  if (requirements.tasks.length === 0) return { task: wholeFile, requirements }
  const tasks = queueFromRequirements({ path, text, parsed })
  const [first] = tasks
  if (!first) throw new AppError('requirements_done', { path, count: requirements.tasks.length })
  return { task: first.text, tasks, requirements }
}

/** The line that announces the queue made from a file; `undefined` when the file did not become a queue. */
export function queueLine({ tasks, requirements }: RequestedWork, path: string): string | undefined {
  if (!tasks) return undefined
  const done = requirements?.tasks.filter(task => task.done).length ?? 0
  const count = `${tasks.length} ${tasks.length === 1 ? 'task' : 'tasks'}`
  return `Queue: ${count} of ${path}${done > 0 ? `, ${done} done already` : ''}`
}

/** Reads a requirements file. A file that is unreadable, binary or empty is rejected. */
export function readRequirements(path: string): string {
  const text = decodeText(readBytes(path))
  if (text === undefined || text.includes('\0')) throw new AppError('requirements_binary', { path })
  if (!text.trim()) throw new AppError('requirements_empty', { path })
  return text
}

function readBytes(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    const problem = PROBLEMS[(error as NodeJS.ErrnoException).code ?? ''] ?? String(error)
    throw new AppError('requirements_unreadable', { path, problem }, error)
  }
}

function decodeText(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined // not UTF-8: the caller reports it
  }
}

const PROBLEMS: Record<string, string> = {
  ENOENT: 'it does not exist.',
  EACCES: 'permission denied.',
  EISDIR: 'it is a directory.',
}
