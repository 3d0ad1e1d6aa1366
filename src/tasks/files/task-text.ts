import { AppError, messageOf } from '../../base/errors.ts'

/** The formats of files with tasks. */
export const TASK_FORMATS = ['yaml', 'jsonl', 'markdown'] as const
export type TaskFormat = (typeof TASK_FORMATS)[number]

/** One task of a file, before it is validated. */
interface RawTask {
  line: number
  value: unknown
}

/** A problem in a file, and its line. */
export interface FileProblem {
  line: number
  problem: string
}

/** The tasks and problems that a reader finds in a text. */
export interface RawTasks {
  tasks: RawTask[]
  problems: FileProblem[]
}

/** How many problems one error names: the person fixes these first. */
const SHOWN = 8

/** `tasks_wrong` with the first few problems. */
export function tasksWrongError(path: string, problems: FileProblem[]): AppError {
  const sorted = problems.toSorted((a, b) => a.line - b.line)
  const named = sorted.slice(0, SHOWN).map(({ line, problem }) => `line ${line}: ${problem}`)
  const more = problems.length - named.length
  return new AppError('tasks_wrong', {
    path,
    problems: [...named, ...(more > 0 ? [`and ${more} more`] : [])].join('; '),
  })
}

interface Item {
  task: RawTask & { value: Record<string, unknown> }
  /** The indentation of the bullet. */
  indent: number
  /** The name by which its parts refer to it. */
  name: string
  body: string[]
  /** The fence of a code block that is open in its text. */
  fence: string | undefined
}

/**
 * Reads a check-list: every item with a box is a task, the text indented under it its description, and boxes under it its parts.
 * `<!-- task: {…} -->` after a title holds the fields that Markdown cannot express. Everything else in the file is ignored.
 */
export function fromMarkdown(text: string): RawTasks {
  const raw: RawTasks = { tasks: [], problems: [] }
  const open: Item[] = []
  let outside: CodeBlock | undefined
  const close = (indent: number) => {
    while ((open.at(-1)?.indent ?? -1) >= indent) finish(open.pop())
  }
  for (const [index, source] of text.split(/\r?\n/).entries()) {
    const indent = source.length - source.trimStart().length
    if (source.trim() !== '' && indent <= (open.at(-1)?.indent ?? -1)) close(indent)
    const inside = open.at(-1)
    const match = BOX.exec(source)
    if (outside && match) outside.hidesItem = true
    const box = outside || inside?.fence !== undefined ? null : match
    if (!box) {
      if (inside) addLine(inside, source)
      else outside = codeBlockAfter(outside, source, index + 1)
      continue
    }
    const [, , mark = ' ', rest = ''] = box
    const item = parseItem({ rest, mark, indent, line: index + 1 }, raw)
    if (inside) {
      inside.task.value['id'] ??= inside.name
      item.task.value['parent'] ??= inside.task.value['id']
    }
    open.push(item)
    raw.tasks.push(item.task)
  }
  close(0)
  if (outside?.hidesItem)
    raw.problems.push({ line: outside.line, problem: 'the code block that begins here is never closed' })
  return raw
}

/** A code block that belongs to no item: boxes in it are examples. */
interface CodeBlock {
  fence: string
  line: number
  /** There is a box in it. */
  hidesItem: boolean
}

function codeBlockAfter(outside: CodeBlock | undefined, source: string, line: number): CodeBlock | undefined {
  const fence = fenceIn(source)
  if (outside) return fence?.startsWith(outside.fence) ? undefined : outside
  return fence === undefined ? undefined : { fence, line, hidesItem: false }
}

function fenceIn(source: string): string | undefined {
  return /^\s*(`{3,}|~{3,})/.exec(source)?.[1]
}

const BOX = /^(\s*)(?:[-*+]|\d+[.)])[ \t]+\[([ xX~-])\][ \t]+(\S.*)$/
const TASK_COMMENT = /[ \t]*<!-- task: (\{.*\}) -->[ \t]*$/
const STATES: Record<string, string> = { x: 'done', X: 'done', '-': 'cancelled', '~': 'failed' }

function parseItem(box: { rest: string; mark: string; indent: number; line: number }, raw: RawTasks): Item {
  const { rest, mark, indent, line } = box
  const json = TASK_COMMENT.exec(rest)?.[1]
  const title = rest.replace(TASK_COMMENT, '').trim()
  const state = STATES[mark]
  const value = { title, ...(state && { state }), ...parseFields(json, line, raw) }
  return { task: { line, value }, indent, name: `line ${line}`, body: [], fence: undefined }
}

function parseFields(json: string | undefined, line: number, raw: RawTasks): object {
  if (json === undefined) return {}
  try {
    return JSON.parse(json) as object
  } catch {
    raw.problems.push({ line, problem: 'the text in <!-- task: … --> is not JSON' })
    return {}
  }
}

/** Adds a line to an item's text. A box in a code block is no task. */
function addLine(item: Item, source: string): void {
  const fence = fenceIn(source)
  if (item.fence === undefined) item.fence = fence
  else if (fence?.startsWith(item.fence)) item.fence = undefined
  item.body.push(source)
}

function finish(item: Item | undefined): void {
  if (!item || 'description' in item.task.value) return
  const written = item.body.filter(line => line.trim() !== '')
  if (written.length === 0) return
  const least = written.reduce(
    (most, line) => Math.min(most, line.length - line.trimStart().length),
    Number.POSITIVE_INFINITY,
  )
  item.task.value['description'] = item.body
    .map(line => line.slice(least))
    .join('\n')
    .trim()
}

/** Reads one JSON object per line; empty lines are skipped. */
export function fromJsonLines(text: string): RawTasks {
  const raw: RawTasks = { tasks: [], problems: [] }
  for (const [index, source] of text.split('\n').entries()) {
    const line = index + 1
    if (source.trim() === '') continue
    try {
      raw.tasks.push({ line, value: JSON.parse(source) })
    } catch (error) {
      raw.problems.push({ line, problem: `this is not JSON: ${messageOf(error).slice(0, 100)}` })
    }
  }
  return raw
}
