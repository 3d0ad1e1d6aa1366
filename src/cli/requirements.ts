import { readFileSync } from 'node:fs'
import { AppError } from '../base/errors.ts'
import type { StartSession } from '../domain/api.ts'
import { parseRequirements, queueFromRequirements } from '../tasks/requirements/requirements.ts'

/** What a session is to do, as it is asked for. */
export type RequestedWork = Pick<StartSession, 'task' | 'tasks' | 'requirements'>

/**
 * What a file of requirements asks for. Beside a task the whole file stands under it; alone, its open tasks are the queue,
 * and a file that lists none is one task.
 */
export async function readRequestedWork(path: string, task: string | undefined): Promise<RequestedWork> {
  const text = readRequirements(path)
  const parsed = await parseRequirements(path, text)
  const { requirements } = parsed
  const whole = `Requirements (${path}):\n\n${text.trim()}`
  if (task !== undefined) return { task: `${task}\n\n${whole}`, requirements }
  if (requirements.tasks.length === 0) return { task: whole, requirements }
  const tasks = queueFromRequirements({ path, text, parsed })
  const [first] = tasks
  if (!first) throw new AppError('requirements_done', { path, count: requirements.tasks.length })
  return { task: first.text, tasks, requirements }
}

/** What a person hears of the queue that a file became; nothing where it did not become one. */
export function queueLine({ tasks, requirements }: RequestedWork, path: string): string | undefined {
  if (!tasks) return undefined
  const done = requirements?.tasks.filter(task => task.done).length ?? 0
  const count = `${tasks.length} ${tasks.length === 1 ? 'task' : 'tasks'}`
  return `Queue: ${count} of ${path}${done > 0 ? `, ${done} done already` : ''}`
}

/** The text of a file of requirements; what is none is refused. */
export function readRequirements(path: string): string {
  const bytes = read(path)
  const text = decoded(bytes)
  if (text === undefined || text.includes('\0')) throw new AppError('requirements_binary', { path })
  if (!text.trim()) throw new AppError('requirements_empty', { path })
  return text
}

function read(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    const problem = PROBLEMS[(error as NodeJS.ErrnoException).code ?? ''] ?? String(error)
    throw new AppError('requirements_unreadable', { path, problem }, error)
  }
}

function decoded(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined // not UTF-8: the caller says so
  }
}

const PROBLEMS: Record<string, string> = {
  ENOENT: 'it does not exist.',
  EACCES: 'permission denied.',
  EISDIR: 'it is a directory.',
}
