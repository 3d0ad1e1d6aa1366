import type { Heading, List, ListItem, RootContent } from 'mdast'
import remarkGfm from 'remark-gfm'
import remarkParse from 'remark-parse'
import { unified } from 'unified'
import { keyValue, type Section, sectionNamed, titleIn } from '../key-value.ts'
import { quoted } from '../problems.ts'
import { newReading, type Reading } from '../reading.ts'
import { constraintsIn, preferenceIn } from '../ruled-out.ts'
import { linesOf, plain, sourceOf, struck } from './plain.ts'
import { statements } from './statements.ts'

/** A run of blocks under the headings that they stand under, outermost first. */
interface Part {
  headings: Heading[]
  section: Section | undefined
  blocks: RootContent[]
}

/** Reads the Markdown of the manual: title, Overview, Tasks with boxes, Preferences, Constraints. */
export function fromMarkdown(source: string): Reading {
  const text = withoutFrontMatter(source)
  const reading = newReading()
  const { requirements } = reading
  const parts = partsOf(unified().use(remarkParse).use(remarkGfm).parse(text).children)
  const named = parts.filter(({ section }) => section === 'tasks')
  for (const part of named) readTasks(part, { text, reading, bullets: true })
  // A file without a section for them has its tasks wherever boxes stand.
  const unnamed = named.length === 0 ? parts.filter(({ section }) => section === undefined) : []
  for (const part of unnamed) readTasks(part, { text, reading, bullets: false })
  for (const { section, blocks } of parts) {
    if (section === 'preferences') requirements.preferences.push(...statements(blocks).map(keyValue).map(preferenceIn))
    if (section === 'constraints') requirements.constraints.push(...statements(blocks).flatMap(constraintsIn))
  }
  const title = parts.flatMap(({ headings }) => headings).find(({ depth }) => depth === 1)
  const overview = overviewIn(parts, text)
  if (title) requirements.title = titleIn(plain(title))
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
function sectionOf(headings: Heading[]): Section | undefined {
  return headings.map(heading => sectionNamed(plain(heading))).findLast(section => section !== undefined)
}

interface TaskReading {
  text: string
  reading: Reading
  /** An item without a box counts too. */
  bullets: boolean
}

function readTasks(part: Part, { text, reading, bullets }: TaskReading): void {
  const lists = part.blocks.filter(block => block.type === 'list')
  const before = reading.taskLines.length
  const under = part.headings.filter(heading => heading.depth > 1 && sectionNamed(plain(heading)) === undefined)
  for (const list of lists) readList(list, under.map(plain), { text, reading, bullets })
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
  const done = item.checked === true || struck(item)
  const context = partOf.length > 0 ? `\n\n(Part of: ${partOf.join(' / ')})` : ''
  taskLines.push(linesOf(item))
  requirements.tasks.push({ text: source + context, done, priority: 0, depends_on: [], line })
  const nested = done ? item.children.filter(child => child.type === 'list') : []
  const own = item.children
    .filter(child => child.type !== 'list')
    .map(plain)
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
