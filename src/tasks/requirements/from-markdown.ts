import type { Heading, List, ListItem, Nodes, Paragraph, RootContent, Table } from 'mdast'
import remarkGfm from 'remark-gfm'
import remarkParse from 'remark-parse'
import { unified } from 'unified'
import {
  emptyReading,
  parseConstraints,
  parseKeyValue,
  parsePreference,
  quoted,
  type RequirementsReading,
  type RequirementsSection,
  sectionNamed,
  titleIn,
} from './reading.ts'

/** A sequence of blocks with the headings above them, outermost first. */
interface Part {
  headings: Heading[]
  section: RequirementsSection | undefined
  blocks: RootContent[]
}

/** Reads the Markdown of the manual: title, Overview, Tasks with boxes, Preferences, Constraints. */
export function fromMarkdown(source: string): RequirementsReading {
  const text = withoutFrontMatter(source)
  const reading = emptyReading()
  const { requirements } = reading
  const parts = splitParts(unified().use(remarkParse).use(remarkGfm).parse(text).children)
  const named = parts.filter(({ section }) => section === 'tasks')
  for (const part of named) readTasks(part, { text, reading, bullets: true })
  // In a file without a section "Tasks", every box is a task.
  const unnamed = named.length === 0 ? parts.filter(({ section }) => section === undefined) : []
  for (const part of unnamed) readTasks(part, { text, reading, bullets: false })
  for (const { section, blocks } of parts) {
    if (section === 'preferences')
      requirements.preferences.push(...readStatements(blocks).map(parseKeyValue).map(parsePreference))
    if (section === 'constraints') requirements.constraints.push(...readStatements(blocks).flatMap(parseConstraints))
  }
  const title = parts.flatMap(({ headings }) => headings).find(({ depth }) => depth === 1)
  const overview = findOverview(parts, text)
  if (title) requirements.title = titleIn(plainText(title))
  if (overview) requirements.overview = overview
  return reading
}

/** Blanks the front matter but keeps its lines, so that line numbers in messages are those of the file. */
function withoutFrontMatter(text: string): string {
  return text.replace(/^---[ \t]*\r?\n[\s\S]*?\r?\n---[ \t]*(?=\r?\n|$)/, matter => matter.replace(/[^\r\n]/g, ''))
}

function splitParts(blocks: RootContent[]): Part[] {
  let part: Part = { headings: [], section: undefined, blocks: [] }
  const parts = [part]
  for (const block of blocks) {
    if (block.type !== 'heading') {
      part.blocks.push(block)
      continue
    }
    const headings = [...part.headings.filter(({ depth }) => depth < block.depth), block]
    part = { headings, section: sectionOf(headings), blocks: [] }
    parts.push(part)
  }
  return parts
}

/** The section of the innermost heading that names one: an item under "Tasks", "Phase 1" is a task. */
function sectionOf(headings: Heading[]): RequirementsSection | undefined {
  return headings.map(heading => sectionNamed(plainText(heading))).findLast(section => section !== undefined)
}

interface TaskReading {
  text: string
  reading: RequirementsReading
  /** Items without a box count too. */
  bullets: boolean
}

function readTasks(part: Part, { text, reading, bullets }: TaskReading): void {
  const lists = part.blocks.filter(block => block.type === 'list')
  const before = reading.taskLines.length
  const under = part.headings.filter(heading => heading.depth > 1 && sectionNamed(plainText(heading)) === undefined)
  for (const list of lists) readList(list, under.map(plainText), { text, reading, bullets })
  const heading = part.headings.at(-1)
  const onlyTasks = lists.length === part.blocks.length && part.section === 'tasks'
  if (heading && onlyTasks && (reading.taskLines.length > before || lists.length === 0)) {
    reading.taskLines.push(lineRange(heading))
  }
}

function readList(list: List, partOf: string[], options: TaskReading): void {
  for (const item of list.children) readItem(item, partOf, options)
}

/** An open item is one task with everything under it. Open items under a done item are still tasks. */
function readItem(item: ListItem, partOf: string[], options: TaskReading): void {
  const { text, reading, bullets } = options
  const { requirements, taskLines, problems } = reading
  const hasBox = typeof item.checked === 'boolean'
  // The parser removes the box only before plain words.
  const source = hasBox ? sourceOf(item, text).replace(/^\[[ xX]\]\s+/, '') : sourceOf(item, text)
  const [line] = lineRange(item)
  const problem = hasBox ? undefined : findWrongBox(source)
  if (problem !== undefined) problems.push({ line, field: 'Tasks', problem })
  if (problem !== undefined || !(hasBox || bullets)) return
  const done = item.checked === true || isStruckThrough(item)
  const context = partOf.length > 0 ? `\n\n(Part of: ${partOf.join(' / ')})` : ''
  taskLines.push(lineRange(item))
  requirements.tasks.push({ text: source + context, done, priority: 0, depends_on: [], line })
  const nested = done ? item.children.filter(child => child.type === 'list') : []
  const own = item.children
    .filter(child => child.type !== 'list')
    .map(plainText)
    .join(' ')
  for (const list of nested) readList(list, [...partOf, own], { ...options, bullets: false })
}

/** Finds text that looks like a check box but that Markdown treats as text. */
function findWrongBox(source: string): string | undefined {
  if (/^\[[ xX]\]\s*$/.test(source)) return 'the task is empty: say after the box what is to be done'
  const box = /^\[[^\]]?\](?![([:])(?=\s|$|\p{L})/u.exec(source)?.[0]
  return box && `${quoted(box)} is not a box: write "[ ] " for an open task, "[x] " for a done one`
}

/** The text under "Overview", else the first paragraphs under the title. */
function findOverview(parts: Part[], text: string): string | undefined {
  const named = parts.filter(({ section }) => section === 'overview').flatMap(({ blocks }) => blocks)
  const first = parts.find(({ blocks }) => blocks.length > 0)
  const lead =
    (first?.section === undefined && first?.headings.length === 1 && first.headings[0]?.depth === 1 && first.blocks) ||
    []
  const blocks = named.length > 0 ? named : lead.filter(({ type }) => type === 'paragraph')
  return (
    blocks
      .map(block => sourceOf(block, text))
      .join('\n\n')
      .slice(0, MAX_OVERVIEW)
      .trim() || undefined
  )
}

/** The overview is kept with the session and put into prompts. */
const MAX_OVERVIEW = 20_000

/** The statements of a section, one line each: list items with their parent item, paragraphs, table rows as "key: value". */
function readStatements(blocks: readonly RootContent[]): string[] {
  return blocks.flatMap(block => readBlock(block)).filter(text => text !== '')
}

function readBlock(block: RootContent): string[] {
  switch (block.type) {
    case 'list':
      return block.children.flatMap(readItemStatements)
    case 'table':
      return readRows(block)
    case 'paragraph':
      return readParagraph(block)
    case 'blockquote':
      return readStatements(block.children)
    default:
      return [] // code, rules and comments state nothing
  }
}

/** An item with a list under it is the prefix of the list's items, or a key whose value is the list. */
function readItemStatements(item: ListItem): string[] {
  const own = item.children
    .filter(child => child.type !== 'list')
    .map(plainText)
    .join(' ')
  const under = readStatements(item.children.filter(child => child.type === 'list'))
  if (under.length === 0) return [parseBoldKey(item) ?? own]
  const { key, value } = parseKeyValue(own)
  if (value !== '' && key !== '') return [own, ...under]
  const name = own.replace(/[\s:=]+$/, '')
  if (under.every(text => parseKeyValue(text).key === '') && own.endsWith(':')) return [`${name}: ${under.join('; ')}`]
  return under.map(text => (parseKeyValue(text).key === '' ? `${name}: ${text}` : `${name} ${text}`))
}

/** "**Database** – PostgreSQL": a bold beginning is a key, whichever separator follows. */
function parseBoldKey({ children: [first] }: ListItem): string | undefined {
  if (first?.type !== 'paragraph' || first.children[0]?.type !== 'strong') return undefined
  const [strong, ...rest] = first.children
  const key = plainText(strong).replace(/[\s:=]+$/, '')
  const value = plainText({ ...first, children: rest }).replace(/^[:=–—-]+\s*/, '')
  const hasSeparator = /^\s*[:=–—-]/.test(plainText({ ...first, children: rest })) || /[:=]\s*$/.test(plainText(strong))
  return hasSeparator && value !== '' ? `${key}: ${value}` : undefined
}

/** The first row is the table's head. */
function readRows({ children: [, ...rows] }: Table): string[] {
  return rows.map(({ children }) => {
    const [key = '', ...values] = children.map(plainText)
    return values.some(Boolean) ? `${key}: ${values.filter(Boolean).join(', ')}` : key
  })
}

/** If all lines are "key: value", each is a statement; otherwise the paragraph is one. */
function readParagraph(block: Paragraph): string[] {
  const lines = splitLines(block).map(plainText)
  return lines.length > 1 && lines.every(line => parseKeyValue(line).key !== '') ? lines : [plainText(block)]
}

function splitLines(block: Paragraph): Paragraph[] {
  const lines: Paragraph[] = [{ ...block, children: [] }]
  for (const child of block.children) {
    if (child.type !== 'text' && child.type !== 'break') {
      lines.at(-1)?.children.push(child)
      continue
    }
    const [first = '', ...others] = child.type === 'break' ? ['', ''] : child.value.split('\n')
    lines.at(-1)?.children.push({ type: 'text', value: first })
    for (const value of others) lines.push({ ...block, children: [{ type: 'text', value }] })
  }
  return lines
}

/** The text of a node on one line, without struck-through text. */
function plainText(node: Nodes): string {
  return rawText(node).replace(/\s+/g, ' ').trim()
}

/** The first and last line of a node. */
function lineRange({ position }: Nodes): [from: number, to: number] {
  return [position?.start.line ?? 0, position?.end.line ?? 0]
}

/** The source of a node, without its bullet and common indentation. */
function sourceOf(node: Nodes, text: string): string {
  const from = 'children' in node && node.type === 'listItem' ? node.children[0]?.position : node.position
  const end = node.position?.end.offset
  if (from?.start.offset === undefined || end === undefined) return ''
  const [first = '', ...others] = text.slice(from.start.offset, end).split(/\r?\n/)
  const indents = others.filter(line => line.trim() !== '').map(line => line.length - line.trimStart().length)
  const least = indents.length > 0 ? Math.min(...indents) : 0
  return [first, ...others.map(line => line.slice(least))]
    .map(line => line.trimEnd())
    .join('\n')
    .trim()
}

/** Whether the whole of an item's own line is struck through. */
function isStruckThrough({ children: [first] }: ListItem): boolean {
  if (first?.type !== 'paragraph') return false
  return first.children.some(({ type }) => type === 'delete') && plainText(first) === ''
}

function rawText(node: Nodes): string {
  switch (node.type) {
    case 'delete':
    case 'html':
      return ''
    case 'break':
      return ' '
    case 'image':
    case 'imageReference':
      return node.alt ?? ''
    default:
      if ('value' in node) return node.value
      return 'children' in node ? node.children.map(rawText).join(isBlock(node) ? ' ' : '') : ''
  }
}

function isBlock({ type }: Nodes): boolean {
  return ['list', 'listItem', 'blockquote', 'table', 'tableRow'].includes(type)
}
