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

/** A run of blocks under the headings that they stand under, outermost first. */
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
  const parts = partsOf(unified().use(remarkParse).use(remarkGfm).parse(text).children)
  const named = parts.filter(({ section }) => section === 'tasks')
  for (const part of named) readTasks(part, { text, reading, bullets: true })
  // A file without a section for them has its tasks wherever boxes stand.
  const unnamed = named.length === 0 ? parts.filter(({ section }) => section === undefined) : []
  for (const part of unnamed) readTasks(part, { text, reading, bullets: false })
  for (const { section, blocks } of parts) {
    if (section === 'preferences')
      requirements.preferences.push(...readStatements(blocks).map(parseKeyValue).map(parsePreference))
    if (section === 'constraints') requirements.constraints.push(...readStatements(blocks).flatMap(parseConstraints))
  }
  const title = parts.flatMap(({ headings }) => headings).find(({ depth }) => depth === 1)
  const overview = overviewIn(parts, text)
  if (title) requirements.title = titleIn(plainText(title))
  if (overview) requirements.overview = overview
  return reading
}

/** Lines are kept, so that those in messages are those of the file. */
function withoutFrontMatter(text: string): string {
  return text.replace(/^---[ \t]*\r?\n[\s\S]*?\r?\n---[ \t]*(?=\r?\n|$)/, matter => matter.replace(/[^\r\n]/g, ''))
}

function partsOf(blocks: RootContent[]): Part[] {
  let part: Part = { headings: [], section: undefined, blocks: [] }
  const parts = [part]
  for (const block of blocks) {
    if (block.type !== 'heading') {
      part.blocks.push(block)
      continue
    }
    const above = part.headings.filter(({ depth }) => depth < block.depth)
    const headings = [...above, block]
    part = { headings, section: sectionOf(headings), blocks: [] }
    parts.push(part)
  }
  return parts
}

/** The innermost heading that means something: what stands under "Tasks", "Phase 1" is a task. */
function sectionOf(headings: Heading[]): RequirementsSection | undefined {
  return headings.map(heading => sectionNamed(plainText(heading))).findLast(section => section !== undefined)
}

interface TaskReading {
  text: string
  reading: RequirementsReading
  /** An item without a box counts too. */
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
    reading.taskLines.push(linesOf(heading))
  }
}

function readList(list: List, partOf: string[], options: TaskReading): void {
  for (const item of list.children) readItem(item, partOf, options)
}

/** An open item is one task with all that stands under it. Of one that is done, what is open under it is still to be done. */
function readItem(item: ListItem, partOf: string[], options: TaskReading): void {
  const { text, reading, bullets } = options
  const { requirements, taskLines, problems } = reading
  const boxed = typeof item.checked === 'boolean'
  // Before anything but plain words the box belongs to what the parser gives.
  const source = boxed ? sourceOf(item, text).replace(/^\[[ xX]\]\s+/, '') : sourceOf(item, text)
  const [line] = linesOf(item)
  const wrong = boxed ? undefined : wrongBox(source)
  if (wrong !== undefined) problems.push({ line, field: 'Tasks', problem: wrong })
  if (wrong !== undefined || !(boxed || bullets)) return
  const done = item.checked === true || isStruckThrough(item)
  const context = partOf.length > 0 ? `\n\n(Part of: ${partOf.join(' / ')})` : ''
  taskLines.push(linesOf(item))
  requirements.tasks.push({ text: source + context, done, priority: 0, depends_on: [], line })
  const nested = done ? item.children.filter(child => child.type === 'list') : []
  const own = item.children
    .filter(child => child.type !== 'list')
    .map(plainText)
    .join(' ')
  for (const list of nested) readList(list, [...partOf, own], { ...options, bullets: false })
}

/** What looks like a box and is none: Markdown takes it for text. */
function wrongBox(source: string): string | undefined {
  if (/^\[[ xX]\]\s*$/.test(source)) return 'the task is empty: say after the box what is to be done'
  const box = /^\[[^\]]?\](?![([:])(?=\s|$|\p{L})/u.exec(source)?.[0]
  return box && `${quoted(box)} is no box: write "[ ] " for a task that is open, "[x] " for one that is done`
}

/** What stands under "Overview", else the first paragraphs under the title. */
function overviewIn(parts: Part[], text: string): string | undefined {
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

/** It is kept with the session and put into prompts. */
const MAX_OVERVIEW = 20_000

/** What a section states, one line each: items with what they stand under, paragraphs, rows of a table as "key: value". */
function readStatements(blocks: readonly RootContent[]): string[] {
  return blocks.flatMap(block => stated(block)).filter(text => text !== '')
}

function stated(block: RootContent): string[] {
  switch (block.type) {
    case 'list':
      return block.children.flatMap(itemStated)
    case 'table':
      return rowsStated(block)
    case 'paragraph':
      return paragraphStated(block)
    case 'blockquote':
      return readStatements(block.children)
    default:
      return [] // code, rules and comments state nothing
  }
}

/** An item with a list under it: the list's items are stated under its words, or are its value together. */
function itemStated(item: ListItem): string[] {
  const own = item.children
    .filter(child => child.type !== 'list')
    .map(plainText)
    .join(' ')
  const under = readStatements(item.children.filter(child => child.type === 'list'))
  if (under.length === 0) return [dashed(item) ?? own]
  const { key, value } = parseKeyValue(own)
  if (value !== '' && key !== '') return [own, ...under]
  const name = own.replace(/[\s:=]+$/, '')
  if (under.every(text => parseKeyValue(text).key === '') && own.endsWith(':')) return [`${name}: ${under.join('; ')}`]
  return under.map(text => (parseKeyValue(text).key === '' ? `${name}: ${text}` : `${name} ${text}`))
}

/** "**Database** – PostgreSQL": a bold beginning is a key whatever stands behind it. */
function dashed({ children: [first] }: ListItem): string | undefined {
  if (first?.type !== 'paragraph' || first.children[0]?.type !== 'strong') return undefined
  const [strong, ...rest] = first.children
  const key = plainText(strong).replace(/[\s:=]+$/, '')
  const value = plainText({ ...first, children: rest }).replace(/^[:=–—-]+\s*/, '')
  const joins = /^\s*[:=–—-]/.test(plainText({ ...first, children: rest })) || /[:=]\s*$/.test(plainText(strong))
  return joins && value !== '' ? `${key}: ${value}` : undefined
}

/** The first row is the table's head. */
function rowsStated({ children: [, ...rows] }: Table): string[] {
  return rows.map(({ children }) => {
    const [key = '', ...values] = children.map(plainText)
    return values.some(Boolean) ? `${key}: ${values.filter(Boolean).join(', ')}` : key
  })
}

/** Lines that are all "key: value" are one each; others are a sentence that goes on. */
function paragraphStated(block: Paragraph): string[] {
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

/** The words of a node on one line, without what is struck through. */
function plainText(node: Nodes): string {
  return words(node).replace(/\s+/g, ' ').trim()
}

/** The lines that a node stands on. */
function linesOf({ position }: Nodes): [from: number, to: number] {
  return [position?.start.line ?? 0, position?.end.line ?? 0]
}

/** As it is written, from its first word on, with no more indentation than its parts need. */
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

function words(node: Nodes): string {
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
      return 'children' in node ? node.children.map(words).join(isBlock(node) ? ' ' : '') : ''
  }
}

function isBlock({ type }: Nodes): boolean {
  return ['list', 'listItem', 'blockquote', 'table', 'tableRow'].includes(type)
}
