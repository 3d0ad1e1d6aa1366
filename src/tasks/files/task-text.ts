import { AppError, messageOf } from '../../base/errors.ts'

/** The forms in which tasks are written down. */
export const TASK_FORMATS = ['yaml', 'jsonl', 'markdown'] as const
export type TaskFormat = (typeof TASK_FORMATS)[number]

/** One task as a file has it, before it is checked. */
interface RawTask {
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

/** Problems named in one error: who has more mends these first. */
const SHOWN = 8

/** `tasks_wrong` with the first few problems. */
export function tasksWrongError(path: string, problems: FileProblem[]): AppError {
  const sorted = problems.toSorted((a, b) => a.line - b.line)
  const told = sorted.slice(0, SHOWN).map(({ line, problem }) => `line ${line}: ${problem}`)
  const more = problems.length - told.length
  return new AppError('tasks_wrong', {
    path,
    problems: [...told, ...(more > 0 ? [`and ${more} more`] : [])].join('; '),
  })
}

interface Item {
  task: RawTask & { value: Record<string, unknown> }
  /** Of the bullet. */
  indent: number
  /** Name by which parts of it say so. */
  name: string
  body: string[]
  /** Of a fence that is open in its text. */
  fence: string | undefined
}

/**
 * Reads a check-list: every item with a box is a task, what is indented under it its description, and boxes under it its
 * parts. `<!-- task: {…} -->` behind a title holds what Markdown has no word for. Everything else in the file is no task.
 */
export function fromMarkdown(text: string): RawTasks {
  const raw: RawTasks = { tasks: [], problems: [] }
  const open: Item[] = []
  let outside: Outside | undefined
  const close = (indent: number) => {
    while ((open.at(-1)?.indent ?? -1) >= indent) finish(open.pop())
  }
  for (const [index, source] of text.split(/\r?\n/).entries()) {
    const indent = source.length - source.trimStart().length
    if (source.trim() !== '' && indent <= (open.at(-1)?.indent ?? -1)) close(indent)
    const inside = open.at(-1)
    const found = BOX.exec(source)
    if (outside && found) outside.hides = true
    const box = outside || inside?.fence !== undefined ? null : found
    if (!box) {
      if (inside) keep(inside, source)
      else outside = after(outside, source, index + 1)
      continue
    }
    const [, , mark = ' ', rest = ''] = box
    const item = itemOf({ rest, mark, indent, line: index + 1 }, raw)
    if (inside) {
      inside.task.value['id'] ??= inside.name
      item.task.value['parent'] ??= inside.task.value['id']
    }
    open.push(item)
    raw.tasks.push(item.task)
  }
  close(0)
  if (outside?.hides)
    raw.problems.push({ line: outside.line, problem: 'the code block that begins here is never closed' })
  return raw
}

/** A code block under no item: what it shows is an example. */
interface Outside {
  fence: string
  line: number
  /** There is an item in it. */
  hides: boolean
}

function after(outside: Outside | undefined, source: string, line: number): Outside | undefined {
  const fence = fenceIn(source)
  if (outside) return fence?.startsWith(outside.fence) ? undefined : outside
  return fence === undefined ? undefined : { fence, line, hides: false }
}

function fenceIn(source: string): string | undefined {
  return /^\s*(`{3,}|~{3,})/.exec(source)?.[1]
}

const BOX = /^(\s*)(?:[-*+]|\d+[.)])[ \t]+\[([ xX~-])\][ \t]+(\S.*)$/
const SAID = /[ \t]*<!-- task: (\{.*\}) -->[ \t]*$/
const STATES: Record<string, string> = { x: 'done', X: 'done', '-': 'cancelled', '~': 'failed' }

function itemOf(found: { rest: string; mark: string; indent: number; line: number }, raw: RawTasks): Item {
  const { rest, mark, indent, line } = found
  const said = SAID.exec(rest)?.[1]
  const title = rest.replace(SAID, '').trim()
  const state = STATES[mark]
  const value = { title, ...(state && { state }), ...extra(said, line, raw) }
  return { task: { line, value }, indent, name: `line ${line}`, body: [], fence: undefined }
}

function extra(said: string | undefined, line: number, raw: RawTasks): object {
  if (said === undefined) return {}
  try {
    return JSON.parse(said) as object
  } catch {
    raw.problems.push({ line, problem: 'what stands in <!-- task: … --> is no JSON' })
    return {}
  }
}

/** A line of an item's text. A box in a code block is no task. */
function keep(item: Item, source: string): void {
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

/** One JSON object a line; empty lines do not count. */
export function fromJsonLines(text: string): RawTasks {
  const raw: RawTasks = { tasks: [], problems: [] }
  for (const [index, source] of text.split('\n').entries()) {
    const line = index + 1
    if (source.trim() === '') continue
    try {
      raw.tasks.push({ line, value: JSON.parse(source) })
    } catch (error) {
      raw.problems.push({ line, problem: `this is no JSON: ${messageOf(error).slice(0, 100)}` })
    }
  }
  return raw
}
