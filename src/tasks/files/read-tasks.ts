import { AppError } from '../../base/errors.ts'
import { ImportedTask, MAX_IMPORTED } from '../../domain/tasks/requests.ts'

/** The forms in which tasks are written down. */
export const TASK_FORMATS = ['yaml', 'jsonl', 'markdown'] as const
export type TaskFormat = (typeof TASK_FORMATS)[number]

/** One task as a file has it, before it is checked. */
export interface RawTask {
  line: number
  value: unknown
}

/** Something wrong in a file, and where. */
export interface FileProblem {
  line: number
  problem: string
}

/** What a reader makes of a text. */
export interface RawTasks {
  tasks: RawTask[]
  problems: FileProblem[]
}

/** Which form a file has, by its name; nothing where that says nothing. */
export function formatOf(path: string): TaskFormat | undefined {
  const ending = /\.([a-z]+)$/i.exec(path)?.[1]?.toLowerCase() ?? ''
  if (['yaml', 'yml'].includes(ending)) return 'yaml'
  if (['jsonl', 'ndjson', 'json'].includes(ending)) return 'jsonl'
  return ['md', 'markdown', 'txt'].includes(ending) ? 'markdown' : undefined
}

/** Reads the tasks of a text. Throws `tasks_wrong` with the line of every problem, duplicate ids among them. */
export async function readTasks(text: string, format: TaskFormat, path: string): Promise<ImportedTask[]> {
  const { tasks, problems } = (await readerFor(format))(text)
  const found: ImportedTask[] = []
  const lines = new Map<string, number>()
  if (tasks.length > MAX_IMPORTED) {
    const problem = `there are ${tasks.length} tasks; ${MAX_IMPORTED} can be taken at once`
    throw wrong(path, [{ line: tasks[MAX_IMPORTED]?.line ?? 0, problem }])
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
    found.push({ ...checked.data, line })
  }
  if (problems.length > 0) throw wrong(path, problems)
  return found
}

/** Problems named in one error: who has more mends these first. */
const SHOWN = 8

/** `tasks_wrong` with the first few problems. */
export function wrong(path: string, problems: FileProblem[]): AppError {
  const sorted = problems.toSorted((a, b) => a.line - b.line)
  const told = sorted.slice(0, SHOWN).map(({ line, problem }) => `line ${line}: ${problem}`)
  const more = problems.length - told.length
  return new AppError('tasks_wrong', {
    path,
    problems: [...told, ...(more > 0 ? [`and ${more} more`] : [])].join('; '),
  })
}

/** Imported on use: a parser takes longer to load than a command to start. */
async function readerFor(format: TaskFormat): Promise<(text: string) => RawTasks> {
  if (format === 'yaml') return (await import('./from-yaml.ts')).fromYaml
  if (format === 'jsonl') return (await import('./from-json-lines.ts')).fromJsonLines
  return (await import('./from-markdown.ts')).fromMarkdown
}
