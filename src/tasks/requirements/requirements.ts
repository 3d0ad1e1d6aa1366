import { basename, extname } from 'node:path'
import { AppError } from '../../base/errors.ts'
import type { RequiredTask } from '../../domain/brain.ts'
import type { FirstTask } from '../../domain/task.ts'
import { cleanLine, type ImportedTask, MAX_TITLE } from '../../domain/task-requests.ts'
import { AFTER, splitNames, titleKey } from '../files/task-text.ts'
import {
  orderOpenTasks,
  type ParsedRequirements,
  quoted,
  type RequirementsProblem,
  type RequirementsReading,
  refuseProblems,
} from './reading.ts'

/**
 * Reads requirements from the text of a file: Markdown, YAML or plain text, by its extension, else by its content. Throws
 * `requirements_wrong` with every problem's line and field, or `requirements_cycle`.
 */
export async function parseRequirements(path: string, text: string): Promise<ParsedRequirements> {
  // Windows programs write a byte order mark; the parsers skip it, and their positions would be off by one.
  const plain = text.replace(/^\ufeff/, '')
  const read = await readerFor(path, plain)
  const { problems, requirements, taskLines } = readSafely(path, () => read(plain))
  linkByTitle(requirements.tasks, problems)
  refuseProblems(path, problems, requirements.tasks)
  // "Database:" without a value states nothing.
  const preferences = requirements.preferences.filter(({ value }) => value !== '')
  return { requirements: { ...requirements, preferences }, taskLines }
}

/** `(after: Validate ISBN numbers)` at the end of a task's first line names other tasks of the file by title or id. */
function linkByTitle(tasks: readonly RequiredTask[], problems: RequirementsProblem[]): void {
  const titles = Map.groupBy(tasks, ({ text }) => titleKey((text.split('\n')[0] ?? '').replace(AFTER, '')))
  const find = (name: string) => tasks.find(({ id }) => id === name) ?? titles.get(titleKey(name))?.[0]
  for (const task of tasks) {
    const [first = '', ...rest] = task.text.split('\n')
    const after = AFTER.exec(first)?.[1]
    if (after === undefined) continue
    for (const name of splitNames(after.trim(), part => find(part) !== undefined)) {
      const other = find(name)
      if (!other || other === task) {
        problems.push({ line: task.line, field: 'after', problem: `no other task has the title ${quoted(name)}` })
        continue
      }
      other.id ??= `line ${other.line}`
      task.depends_on.push(other.id)
    }
    task.text = [first.replace(AFTER, ''), ...rest].join('\n')
  }
}

/** Parsers are imported when they are needed: loading one takes longer than starting a command. */
async function readerFor(path: string, text: string): Promise<(text: string) => RequirementsReading> {
  const ending = extname(path).toLowerCase()
  if (['.yaml', '.yml', '.json'].includes(ending)) return (await import('./from-yaml.ts')).fromYaml
  const isMarkdown = ['.md', '.markdown', '.mdx', '.mkd'].includes(ending) || LOOKS_LIKE_MARKDOWN.test(text)
  if (isMarkdown) return (await import('./from-markdown.ts')).fromMarkdown
  return (await import('./from-text.ts')).fromText
}

/** A heading, or a box to be checked. */
const LOOKS_LIKE_MARKDOWN = /^(#{1,6}[ \t]+\S|[ \t]*([-*+]|\d+[.)])[ \t]+\[[ xX]\][ \t])/m

function readSafely(path: string, read: () => RequirementsReading): RequirementsReading {
  try {
    return read()
  } catch (error) {
    // The parsers are recursive, and so is this code: deep nesting overflows the stack.
    if (!(error instanceof RangeError)) throw error
    throw new AppError('requirements_wrong', { path, problems: 'it is nested too deeply to be read' }, error)
  }
}

/** A file of requirements: its path, its text, and what was read from it. */
interface RequirementsFile {
  path: string
  text: string
  parsed: ParsedRequirements
}

/**
 * The queue of a session that works through a file: the open tasks, in the order in which they run. The rest of the file is
 * appended to the first task, since one conversation does them all.
 */
export function queueFromRequirements(file: RequirementsFile): FirstTask[] {
  const order = orderOpenTasks(file.parsed.requirements.tasks)
  return order.map(({ id, text, priority, depends_on }, index) => ({
    text: index === 0 ? withBackground(text, order.length, file) : text,
    priority,
    ...(id !== undefined && { id }),
    after: depends_on,
  }))
}

/** The text of a file without its tasks. */
function backgroundOf({ text, parsed: { taskLines } }: RequirementsFile): string {
  const isTask = (line: number) => taskLines.some(([from, to]) => line >= from && line <= to)
  return text
    .split(/\r?\n/)
    .filter((_, index) => !isTask(index + 1))
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim()
}

function withBackground(task: string, count: number, file: RequirementsFile): string {
  const background = backgroundOf(file)
  const others =
    count === 1 ? '' : `This is the first of ${count} tasks: do only this one, the others follow one at a time.`
  const from = background && `Requirements (${file.path}):\n\n${background}`
  return [task, others, from].filter(Boolean).join('\n\n')
}

/**
 * The open tasks of a file as tasks of the project. Each is done in its own conversation, so the rest of the file becomes a parent
 * task whose parts they are. A file without tasks is one task as a whole.
 */
export function importedFromRequirements(file: RequirementsFile): ImportedTask[] {
  const { requirements } = file.parsed
  const name = cleanLine(requirements.title ?? '') || cleanLine(basename(file.path)) || 'Requirements'
  if (requirements.tasks.length === 0) return [{ ...splitTitle(`${name}\n\n${file.text.trim()}`), id: WHOLE_FILE_ID }]
  const open = orderOpenTasks(requirements.tasks)
  const background = backgroundOf(file)
  // Headings alone are no background.
  const hasText = background.split('\n').some(line => line.trim() !== '' && !/^#{1,6}\s/.test(line))
  const hasParent = hasText && open.length > 0
  const parts = open.map(
    ({ id, text, priority, depends_on, line }): ImportedTask => ({
      ...splitTitle(text),
      id: id ?? `line ${line}`,
      ...(depends_on.length > 0 && { after: depends_on }),
      ...(priority !== 0 && { priority }),
      ...(hasParent && { parent: WHOLE_FILE_ID }),
      line,
    }),
  )
  return hasParent ? [{ ...splitTitle(`${name}\n\n${background}`), id: WHOLE_FILE_ID }, ...parts] : parts
}

/** The id of the parent within the import; no id in a file begins with a space. */
const WHOLE_FILE_ID = ' the whole file'

/** The first line is the title; where there is more, the whole text is the description. */
function splitTitle(text: string): Pick<ImportedTask, 'title' | 'description'> {
  const first = cleanLine(text.split('\n')[0] ?? '')
  const title = first.length > MAX_TITLE ? `${first.slice(0, MAX_TITLE - 1).trimEnd()}…` : first
  return text.trim() === title ? { title } : { title, description: text }
}
