import { readFileSync } from 'node:fs'
import { AppError } from '../../base/errors.ts'
import type { ImportedTask } from '../../domain/tasks/requests.ts'
import type { TaskFormat } from '../../tasks/files/raw-tasks.ts'
import { formatOf, readTasks } from '../../tasks/files/read-tasks.ts'

/** The tasks of a file, or of standard input. */
export async function readFileTasks(path: string, format: TaskFormat | undefined): Promise<ImportedTask[]> {
  const bytes = path === '-' ? await standardInput() : read(path)
  const text = decoded(bytes, path)
  if (text.trim() === '') throw new AppError('tasks_unreadable', { path, problem: 'it is empty.' })
  return readTasks(text, format ?? formatOf(path) ?? looksLike(text), path)
}

/** Larger than that it is no list of tasks that somebody made. */
const MAX_BYTES = 64_000_000

function looksLike(text: string): TaskFormat {
  if (/^\s*\{/.test(text)) return 'jsonl'
  return /^\s*([-*+]|\d+[.)])[ \t]+\[[ xX~-]\]/m.test(text) ? 'markdown' : 'yaml'
}

async function standardInput(): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

function read(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    const problem = PROBLEMS[(error as NodeJS.ErrnoException).code ?? ''] ?? String(error)
    throw new AppError('tasks_unreadable', { path, problem }, error)
  }
}

function decoded(bytes: Buffer, path: string): string {
  if (bytes.length > MAX_BYTES) throw new AppError('tasks_unreadable', { path, problem: 'it is larger than 64 MB.' })
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    if (!text.includes('\0')) return text
  } catch {
    // told below, as what has zero bytes in it is
  }
  throw new AppError('tasks_unreadable', { path, problem: 'it is not text in UTF-8.' })
}

const PROBLEMS: Record<string, string> = {
  ENOENT: 'it does not exist.',
  EACCES: 'permission denied.',
  EISDIR: 'it is a directory.',
}
