import { basename, extname } from 'node:path'
import { AppError } from '../../base/errors.ts'
import type { FirstTask } from '../../domain/task.ts'
import { cleanLine, type ImportedTask } from '../../domain/task-requests.ts'
import { orderOpenTasks, type ParsedRequirements, type RequirementsReading, refuseProblems } from './reading.ts'

/**
 * Reads requirements out of the text of a file: Markdown, YAML or plain text, by its name, else by its look. Throws
 * `requirements_wrong` with every problem's line and field, or `requirements_cycle`.
 */
export async function parseRequirements(path: string, text: string): Promise<ParsedRequirements> {
  // Windows marks the beginning of a text; the parsers leave that out and would count one letter too few.
  const plain = text.replace(/^\ufeff/, '')
  const read = await readerFor(path, plain)
  const { problems, requirements, taskLines } = readAll(path, () => read(plain))
  refuseProblems(path, problems, requirements.tasks)
  // "Database:" says that there is something to say.
  const preferences = requirements.preferences.filter(({ value }) => value !== '')
  return { requirements: { ...requirements, preferences }, taskLines }
}

/** Imported on use: a parser takes longer to load than a command to start. */
async function readerFor(path: string, text: string): Promise<(text: string) => RequirementsReading> {
  const ending = extname(path).toLowerCase()
  if (['.yaml', '.yml', '.json'].includes(ending)) return (await import('./from-yaml.ts')).fromYaml
  const isMarkdown = ['.md', '.markdown', '.mdx', '.mkd'].includes(ending) || LOOKS_LIKE_MARKDOWN.test(text)
  if (isMarkdown) return (await import('./from-markdown.ts')).fromMarkdown
  return (await import('./from-text.ts')).fromText
}

/** A heading, or a box to be checked. */
const LOOKS_LIKE_MARKDOWN = /^(#{1,6}[ \t]+\S|[ \t]*([-*+]|\d+[.)])[ \t]+\[[ xX]\][ \t])/m

function readAll(path: string, read: () => RequirementsReading): RequirementsReading {
  try {
    return read()
  } catch (error) {
    // Parsers go down by calling themselves, and so do we.
    if (!(error instanceof RangeError)) throw error
    throw new AppError('requirements_wrong', { path, problems: 'it is nested too deeply to be read' }, error)
  }
}

/** A file of requirements: where it lies, what it holds, and what was read out of it. */
interface RequirementsFile {
  path: string
  text: string
  parsed: ParsedRequirements
}

/**
 * The queue of a session that works through a file: what is open, in the order in which it runs. The rest of the file stands
 * under the first task, since one conversation does them all.
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

/** What a file says besides its tasks. */
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
 * The open tasks of a file as a project's own. Each is done in a conversation of its own, so what the file says besides them
 * stands above them as the task whose parts they are. A file that lists none is one task.
 */
export function importedFromRequirements(file: RequirementsFile): ImportedTask[] {
  const { requirements } = file.parsed
  const name = cleanLine(requirements.title ?? '') || cleanLine(basename(file.path)) || 'Requirements'
  if (requirements.tasks.length === 0) return [{ ...titled(`${name}\n\n${file.text.trim()}`), id: WHOLE_FILE_ID }]
  const open = orderOpenTasks(requirements.tasks)
  const background = backgroundOf(file)
  // The heading of the list alone is no background.
  const isSaying = background.split('\n').some(line => line.trim() !== '' && !/^#{1,6}\s/.test(line))
  const above = isSaying && open.length > 0
  const parts = open.map(
    ({ id, text, priority, depends_on, line }): ImportedTask => ({
      ...titled(text),
      id: id ?? `line ${line}`,
      ...(depends_on.length > 0 && { after: depends_on }),
      ...(priority !== 0 && { priority }),
      ...(above && { parent: WHOLE_FILE_ID }),
      line,
    }),
  )
  return above ? [{ ...titled(`${name}\n\n${background}`), id: WHOLE_FILE_ID }, ...parts] : parts
}

/** Its name within the import; none in a file has a space in front. */
const WHOLE_FILE_ID = ' the whole file'

const MAX_TITLE = 200

/** The first line is the title; all of it is the description where there is more. */
function titled(text: string): Pick<ImportedTask, 'title' | 'description'> {
  const first = cleanLine(text.split('\n')[0] ?? '')
  const title = first.length > MAX_TITLE ? `${first.slice(0, MAX_TITLE - 1).trimEnd()}…` : first
  return text.trim() === title ? { title } : { title, description: text }
}
