import { readFileSync } from 'node:fs'
import { AppError } from '../base/errors.ts'

/** The task with the text of the requirements file below it. Either may be missing, not both. */
export function taskText(task: string | undefined, requirements: string | undefined): string {
  if (task !== undefined && !task.trim()) throw new AppError('task_empty', {})
  const parts = [task?.trim(), requirements && readRequirements(requirements)].filter(Boolean)
  if (parts.length === 0) throw new AppError('task_empty', {})
  return parts.join('\n\n')
}

function readRequirements(path: string): string {
  const bytes = read(path)
  const text = decoded(bytes)
  if (text === undefined || text.includes('\0')) throw new AppError('requirements_binary', { path })
  if (!text.trim()) throw new AppError('requirements_empty', { path })
  return `Requirements (${path}):\n\n${text.trim()}`
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
