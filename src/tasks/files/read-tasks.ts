import { ImportedTask, MAX_IMPORTED } from '../../domain/task-requests.ts'
import { type RawTasks, type TaskFormat, tasksWrongError } from './task-text.ts'

/** The format of a file by its extension; undefined if that is unknown. */
export function formatOf(path: string): TaskFormat | undefined {
  const ending = /\.([a-z]+)$/i.exec(path)?.[1]?.toLowerCase() ?? ''
  if (['yaml', 'yml'].includes(ending)) return 'yaml'
  if (['jsonl', 'ndjson', 'json'].includes(ending)) return 'jsonl'
  return ['md', 'markdown', 'txt'].includes(ending) ? 'markdown' : undefined
}

/** Reads the tasks of a text. Throws `tasks_wrong` with the line of every problem, duplicate ids among them. */
export async function readTasks(text: string, format: TaskFormat, path: string): Promise<ImportedTask[]> {
  const { tasks, problems } = (await readerFor(format))(text)
  const read: ImportedTask[] = []
  const lines = new Map<string, number>()
  if (tasks.length > MAX_IMPORTED) {
    const problem = `there are ${tasks.length} tasks; ${MAX_IMPORTED} can be imported at once`
    throw tasksWrongError(path, [{ line: tasks[MAX_IMPORTED]?.line ?? 0, problem }])
  }
  for (const { line, value } of tasks) {
    const checked = ImportedTask.safeParse(value)
    if (!checked.success) {
      const [issue] = checked.error.issues
      problems.push({ line, problem: `${issue?.path.join('.') || 'task'}: ${issue?.message ?? 'not valid'}` })
      continue
    }
    const { id } = checked.data
    const taken = id === undefined ? undefined : lines.get(id)
    if (taken !== undefined)
      problems.push({ line, problem: `${JSON.stringify(id)} is the id of line ${taken} already` })
    if (id !== undefined) lines.set(id, line)
    read.push({ ...checked.data, line })
  }
  if (problems.length > 0) throw tasksWrongError(path, problems)
  return read
}

/** Parsers are imported when they are needed: loading one takes longer than starting a command. */
async function readerFor(format: TaskFormat): Promise<(text: string) => RawTasks> {
  if (format === 'yaml') return (await import('./from-yaml.ts')).fromYaml
  if (format === 'jsonl') return (await import('./task-text.ts')).fromJsonLines
  return (await import('./task-text.ts')).fromMarkdown
}
