import { issueText } from '../../base/errors.ts'
import { ImportedTask, MAX_IMPORTED } from '../../domain/task-requests.ts'
import {
  type FileProblem,
  type RawTask,
  type RawTasks,
  splitNames,
  type TaskFormat,
  tasksWrongError,
  titleKey,
} from './task-text.ts'

/** The format of a file by its extension; undefined if that is unknown. */
export function formatOf(path: string): TaskFormat | undefined {
  const ending = /\.([a-z]+)$/i.exec(path)?.[1]?.toLowerCase() ?? ''
  if (['yaml', 'yml'].includes(ending)) return 'yaml'
  if (['jsonl', 'ndjson', 'json'].includes(ending)) return 'jsonl'
  return ['md', 'markdown', 'txt'].includes(ending) ? 'markdown' : undefined
}

/**
 * Reads the tasks of a text. Tasks may refer to one another by id, title or number. Throws `tasks_wrong` with the place of every
 * problem, duplicate ids among them.
 */
export async function readTasks(text: string, format: TaskFormat, path: string): Promise<ImportedTask[]> {
  const { tasks, problems } = (await readerFor(format))(text.replace(/^\ufeff/, ''))
  const read: ReadTask[] = []
  const lines = new Map<string, number>()
  if (tasks.length > MAX_IMPORTED) {
    const problem = `there are ${tasks.length} tasks; ${MAX_IMPORTED} can be imported at once`
    throw tasksWrongError(path, [{ line: tasks[MAX_IMPORTED]?.line ?? 0, problem }])
  }
  if (tasks.length === 0 && problems.length === 0)
    problems.push({ line: 1, column: 1, problem: `there is no task in it; ${EXAMPLES[format]}` })
  for (const raw of tasks) {
    const { line, value } = raw
    const place = { line, ...(raw.column !== undefined && { column: raw.column }) }
    const checked = ImportedTask.safeParse(value)
    if (!checked.success) {
      // A mistyped field is the cause of one that is missing.
      const unknown = checked.error.issues.flatMap(issue => (issue.code === 'unrecognized_keys' ? issue.keys : []))
      const issue = checked.error.issues.find(({ code }) => code !== 'unrecognized_keys')
      const texts = [
        ...(unknown.length > 0 ? [`there is no field ${unknown.map(key => JSON.stringify(key)).join(', ')}`] : []),
        ...(issue ? [`${issue.path.join('.') || 'task'}: ${issueText(issue)}`] : []),
      ]
      problems.push({ ...place, problem: texts.join('; ') })
      continue
    }
    const { id } = checked.data
    const taken = id === undefined ? undefined : lines.get(id)
    if (taken !== undefined)
      problems.push({ ...place, problem: `${JSON.stringify(id)} is the id of line ${taken} already` })
    if (id !== undefined) lines.set(id, line)
    const { afterColumn: column = raw.column } = raw
    read.push({ task: { ...checked.data, line, ...(column !== undefined && { column }) }, raw })
  }
  if (problems.length === 0) problems.push(...resolveReferences(read))
  if (problems.length > 0) throw tasksWrongError(path, problems)
  return read.map(({ task }) => task)
}

const EXAMPLES: Record<TaskFormat, string> = {
  yaml: 'write "tasks:" and below it one a line, as in "- title: Build the API"',
  jsonl: 'write one a line, as in {"title":"Build the API"}',
  markdown: 'write one a line, as in "- [ ] Build the API"',
}

interface ReadTask {
  task: ImportedTask
  raw: RawTask
}

/**
 * Replaces titles and numbers in references by the ids of the tasks of the file that they mean. Other names are left as they are:
 * they may be tasks of the project.
 */
function resolveReferences(read: readonly ReadTask[]): FileProblem[] {
  const problems: FileProblem[] = []
  const ids = new Set(read.flatMap(({ task }) => task.id ?? []))
  const byTitle = Map.groupBy(read, ({ task }) => titleKey(task.title))
  const byNumber = Map.groupBy(read, ({ raw }) => raw.number ?? '')
  const find = (name: string, of: ReadTask): string | undefined => {
    if (ids.has(name)) return name
    const matches = byTitle.get(titleKey(name)) ?? (/^\d+$/.test(name) ? byNumber.get(name) : undefined) ?? []
    const [match, ...others] = matches.filter(other => other !== of)
    if (!match && matches.includes(of)) problems.push({ ...placeOf(of), problem: 'a task cannot come after itself' })
    if (others.length > 0) {
      const lines = [match, ...others].map(other => other?.task.line).join(', ')
      problems.push({
        ...placeOf(of),
        problem: `${JSON.stringify(name)} may be each of the lines ${lines}: give it an id`,
      })
    }
    if (match) match.task.id ??= `line ${match.raw.line}`
    return match?.task.id
  }
  for (const one of read) {
    const { task, raw } = one
    const written = raw.after === undefined ? [] : splitNames(raw.after, name => find(name, one) !== undefined)
    const after = [...(task.after ?? []), ...written].map(name => find(name, one) ?? name)
    if (after.length > 0) task.after = [...new Set(after)]
    if (task.parent !== undefined) task.parent = find(task.parent, one) ?? task.parent
  }
  return [...new Map(problems.map(found => [`${found.line} ${found.problem}`, found])).values()]
}

function placeOf({ raw: { line }, task: { column } }: ReadTask): Pick<FileProblem, 'line' | 'column'> {
  return { line, ...(column !== undefined && { column }) }
}

/** Parsers are imported when they are needed: loading one takes longer than starting a command. */
async function readerFor(format: TaskFormat): Promise<(text: string) => RawTasks> {
  if (format === 'yaml') return (await import('./from-yaml.ts')).fromYaml
  if (format === 'jsonl') return (await import('./task-text.ts')).fromJsonLines
  return (await import('./task-text.ts')).fromMarkdown
}
