import { AppError, messageOf } from '../../base/errors.ts'
import { cleanLine } from '../../domain/task-requests.ts'
import { sectionNamed } from '../requirements/reading.ts'

/** The formats of files with tasks. */
export const TASK_FORMATS = ['yaml', 'jsonl', 'markdown'] as const
export type TaskFormat = (typeof TASK_FORMATS)[number]

/** One task of a file, before it is validated. */
export interface RawTask {
  line: number
  column?: number
  value: unknown
  /** Its number in a numbered list. */
  number?: string
  /** The text in `(after: …)` at the end of its title, and where that begins. */
  after?: string
  afterColumn?: number
}

/** A problem in a file, and its place. */
export interface FileProblem {
  line: number
  column?: number
  problem: string
}

/** The tasks and problems that a reader finds in a text. */
export interface RawTasks {
  tasks: RawTask[]
  problems: FileProblem[]
}

/** Titles are the same whatever their case and spaces. */
export function titleKey(title: string): string {
  return cleanLine(title).toLowerCase()
}

/** How many problems one error names: the person fixes these first. */
const SHOWN = 8

/** `tasks_wrong` with the first few problems. */
export function tasksWrongError(path: string, problems: FileProblem[]): AppError {
  const sorted = problems.toSorted((a, b) => a.line - b.line)
  const named = sorted
    .slice(0, SHOWN)
    .map(({ line, column, problem }) => `line ${line}${column === undefined ? '' : `, column ${column}`}: ${problem}`)
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
 * `<!-- task: {…} -->` after a title holds the fields that Markdown cannot express. Everything else in the file is ignored. In a file
 * without a box every item of a list is a task, and what is indented under it its description.
 */
export function fromMarkdown(text: string): RawTasks {
  const boxes = readList(text, source => BOX.exec(source))
  if (boxes.tasks.length > 0) return withPlainOrder(boxes)
  const lines = text.split(/\r?\n/)
  const sectionOf = (heading: string) => sectionNamed(/^#{1,6}[ \t]+(.*)$/.exec(heading)?.[1] ?? '')
  const hasSection = lines.some(line => sectionOf(line) === 'tasks')
  let section: string | undefined
  const items = readList(text, (source, inside) => {
    if (/^#{1,6}[ \t]/.test(source)) section = sectionOf(source)
    const isTask = section === 'tasks' || (section === undefined && !hasSection)
    return isTask && !inside ? ITEM.exec(source) : null
  })
  return withPlainOrder(items)
}

/** `(after Validate ISBN numbers)` without its colon means the same, if every name in it is that of a task in the file. */
function withPlainOrder(raw: RawTasks): RawTasks {
  const read = raw.tasks.map(task => {
    const value = task.value as { title: unknown; id?: unknown }
    const [, title = '', names = ''] = (typeof value.title === 'string' && PLAIN_AFTER.exec(value.title)) || []
    return { task, value, title: title || String(value.title), names: task.after === undefined ? names.trim() : '' }
  })
  const known = new Set(
    read.flatMap(({ task, value, title }) => [titleKey(title), String(value.id ?? ''), task.number ?? '']),
  )
  const isKnown = (name: string) => name !== '' && (known.has(name) || known.has(titleKey(name)))
  for (const { task, value, title, names } of read) {
    if (names === '' || !splitNames(names, isKnown).every(isKnown)) continue
    task.after = names
    value.title = title
  }
  return raw
}

/** `itemIn` says which lines begin a task. */
function readList(text: string, itemIn: (source: string, inside: boolean) => RegExpExecArray | null): RawTasks {
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
    const match = itemIn(source, inside !== undefined)
    if (outside && match) outside.hidesItem = true
    const isCode = outside !== undefined || inside?.fence !== undefined
    if (isCode || !match) {
      const comment = isCode ? -1 : source.search(TASK_WORD)
      if (comment >= 0) raw.problems.push({ line: index + 1, column: comment + 1, problem: MISPLACED })
      if (inside) addLine(inside, source)
      else outside = codeBlockAfter(outside, source, index + 1)
      continue
    }
    const item = parseItem(match.groups ?? {}, { indent, line: index + 1, source }, raw)
    if (inside) {
      inside.task.value['id'] ??= inside.name
      item.task.value['parent'] ??= inside.task.value['id']
    }
    open.push(item)
    raw.tasks.push(item.task)
  }
  close(0)
  if (outside?.hidesItem)
    raw.problems.push({ line: outside.line, column: 1, problem: 'the code block that begins here is never closed' })
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

/** An item with a box. */
export const HAS_BOX = /^\s*([-*+]|\d+[.)])[ \t]+\[[ xX~-]\]/m
const BULLET = String.raw`^\s*(?:[-*+]|(?<number>\d+)[.)])[ \t]+`
const BOX = new RegExp(String.raw`${BULLET}\[(?<mark>[ xX~-])\][ \t]+(?<rest>\S.*)$`)
const ITEM = new RegExp(String.raw`${BULLET}(?<rest>\S.*[\p{L}\p{N}].*|[\p{L}\p{N}].*)$`, 'u')
const TASK_COMMENT = /[ \t]*<!--\s*task:\s*(\{.*\})\s*-->[ \t]*$/i
const TASK_WORD = /<!--\s*task\b/i
const MISPLACED =
  'a comment with the fields of a task stands at the end of its line, as in: - [ ] Title <!-- task: {"priority":5} -->'
const ORDER_WORDS = 'after|depends on|needs|requires|blocked by|waits for'
/** What a task comes after, at the end of its title: ids, titles or numbers of the file. */
export const AFTER = new RegExp(String.raw`[ \t]*\((?:${ORDER_WORDS}):[ \t]*((?:[^()]|\([^()]*\))*)\)[ \t]*$`, 'i')
const PLAIN_AFTER = new RegExp(String.raw`^(.*\S)[ \t]+\((?:${ORDER_WORDS})[ \t]+([^()]+)\)[ \t]*$`, 'i')
const AFTER_WORD = new RegExp(String.raw`\((?:${ORDER_WORDS}):`, 'i')
/** Where a title would be read as an order: written back, it needs a space. */
export const LIKE_AFTER = new RegExp(String.raw`\((?=(?:${ORDER_WORDS})[: \t])`, 'gi')
const STATES: Record<string, string> = { x: 'done', X: 'done', '-': 'cancelled', '~': 'failed' }

const STRAY =
  'what a task comes after stands at the end of its title, in brackets, as in: - [ ] Import books (after: isbn)'

/** A title may hold a comma or "and": the longest beginning that is a name comes first, and only what is left is split on. */
export function splitNames(text: string, isKnown: (name: string) => boolean): string[] {
  if (text === '' || isKnown(text)) return text === '' ? [] : [text]
  const cuts = [...text.matchAll(/\s*[;,]\s*(?:and\s+)?|\s+and\s+/g)]
  const atName = cuts.findLast(({ index }) => isKnown(text.slice(0, index)))
  const cut = atName ?? cuts.find(([mark]) => /[;,]/.test(mark))
  if (!cut) return [text]
  return [text.slice(0, cut.index), ...splitNames(text.slice(cut.index + cut[0].length), isKnown)].filter(Boolean)
}

function parseItem(
  { rest = '', mark = ' ', number }: Record<string, string>,
  { indent, line, source }: { indent: number; line: number; source: string },
  raw: RawTasks,
): Item {
  const column = source.length - rest.length + 1
  const json = TASK_COMMENT.exec(rest)?.[1]
  const text = rest.replace(TASK_COMMENT, '').trim()
  const comment = text.search(TASK_WORD)
  if (comment >= 0) {
    const problem = 'this comment is not of the form <!-- task: {"priority":5} --> at the end of the line'
    raw.problems.push({ line, column: column + comment, problem })
  }
  const after = AFTER.exec(text)?.[1]?.trim()
  const title = text.replace(AFTER, '').trim()
  const afterColumn = column + text.search(AFTER_WORD)
  if (after === '') raw.problems.push({ line, column: afterColumn, problem: 'it names no task' })
  const stray = title.search(AFTER_WORD)
  if (stray >= 0) raw.problems.push({ line, column: column + stray, problem: STRAY })
  const state = STATES[mark]
  const value = {
    title,
    ...(state && { state }),
    ...parseFields(json, { line, column: source.lastIndexOf('<!--') + 1 }, raw),
  }
  const task = { line, column, value, ...(number !== undefined && { number }), ...(after && { after, afterColumn }) }
  return { task, indent, name: `line ${line}`, body: [], fence: undefined }
}

function parseFields(json: string | undefined, place: { line: number; column: number }, raw: RawTasks): object {
  if (json === undefined) return {}
  try {
    return JSON.parse(json) as object
  } catch (error) {
    const why = messageOf(error).replace(/ \(line \d+ column \d+\)$/, '')
    raw.problems.push({ ...place, problem: `the text in <!-- task: … --> is not JSON (${why.slice(0, 80)})` })
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
  if (isJson(text) && !text.trim().split('\n').every(isJson)) {
    const problem =
      'this is one JSON value over several lines, and no list of tasks; write one task a line, as in {"title":"Build the API"}'
    return { tasks: [], problems: [{ line: 1, column: 1, problem }] }
  }
  for (const [index, source] of text.split('\n').entries()) {
    const line = index + 1
    if (source.trim() === '') continue
    try {
      raw.tasks.push({ line, column: 1, value: JSON.parse(source) })
    } catch (error) {
      raw.problems.push({ line, column: 1, problem: `this is not JSON: ${messageOf(error).slice(0, 100)}` })
    }
  }
  return raw
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
