/** How a text is read where its readers disagree. */
export interface Reading {
  /** Whether a line that begins like a tag opens a block of HTML, in which nothing else begins until an empty line. */
  html: boolean
  /** Whether a list that may not follow a paragraph at once may not follow indented code either. */
  listsNeedRoom: boolean
}

interface Fence {
  mark: string
  length: number
  /** Column at which the list item that holds it begins; 0 outside of lists. */
  base: number
}

/**
 * For each line, whether it stands in a fenced block, its fences included, as Markdown (CommonMark) is read: with list items
 * that hold blocks, and end them when a line is not indented far enough. Linear in the length of the text, which an agent
 * wrote: a whole parser can be made to take minutes.
 */
export function fencedLines(lines: readonly string[], reading: Reading): boolean[] {
  const scan: Scan = { items: [], fence: undefined, html: undefined, paragraph: false, code: false, hollow: false }
  return lines.map(line => step(line, scan, reading))
}

/** The same as a person reads it who does not count columns: a fence is a fence wherever it stands. */
export function plainlyFencedLines(lines: readonly string[]): boolean[] {
  let fence: Fence | undefined
  return lines.map(line => {
    const before = fence
    fence = plainStep(line, before)
    return before !== undefined || fence !== undefined
  })
}

/** What closes the fence that a text leaves open, read in the same way; undefined where it leaves none. */
export function openFence(lines: readonly string[]): string | undefined {
  let fence: Fence | undefined
  for (const line of lines) fence = plainStep(line, fence)
  return fence?.mark.repeat(fence.length)
}

function plainStep(line: string, fence: Fence | undefined): Fence | undefined {
  if (fence) return closes(line.trim(), fence) ? undefined : fence
  return fenceIn(line.replace(/^[ \t]*((?:[-*+]|\d{1,9}[.)])[ \t]+)*/, ''), 0)
}

interface Scan {
  /** Columns at which the content of the open list items begins, outermost first. */
  items: number[]
  fence: Fence | undefined
  html: { end: RegExp | undefined; base: number } | undefined
  /** The line before was text, with which the next may go on however little it is indented. */
  paragraph: boolean
  /** The line before was indented code. */
  code: boolean
  /** The line before was a list marker alone: an empty line ends that item. */
  hollow: boolean
}

function step(line: string, scan: Scan, reading: Reading): boolean {
  const start = columnsBefore(line, 0)
  const isBlank = start.at === line.length
  if (scan.fence) {
    if (isBlank) return true
    if (start.column >= scan.fence.base) {
      if (start.column - scan.fence.base < 4 && closes(line.slice(start.at), scan.fence)) scan.fence = undefined
      return true
    }
    scan.fence = undefined
  }
  if (scan.html && inHtml(line, start.column, isBlank, scan)) return false
  if (isBlank && scan.hollow) scan.items.pop()
  scan.hollow = false
  if (!isBlank) return open(line, start, scan, reading)
  scan.paragraph = false
  scan.code = false
  return false
}

function inHtml(line: string, column: number, isBlank: boolean, scan: Scan): boolean {
  if (!scan.html) return false
  const { end, base } = scan.html
  const goesOn = end ? !end.test(line) : !isBlank
  const isLeft = !isBlank && column < base
  if (!goesOn || isLeft) scan.html = undefined
  return !isLeft
}

/** Walks through the list markers at the beginning of a line to what the line itself is. */
function open(
  line: string,
  start: { at: number; column: number },
  scan: Scan,
  { html, listsNeedRoom }: Reading,
): boolean {
  let { at, column } = start
  const { paragraph } = scan
  // An item of a list that is open may follow anything.
  const isTight = scan.items.length === 0 && (paragraph || (listsNeedRoom && scan.code))
  if (!paragraph || beginsBlock(line.slice(at))) scan.items = scan.items.filter(base => base <= column)
  scan.paragraph = false
  scan.code = false
  for (;;) {
    const base = scan.items.findLast(each => each <= column) ?? 0
    if (column - base >= 4) {
      scan.paragraph = paragraph && at === start.at
      scan.code = !scan.paragraph
      return false
    }
    const rest = line.slice(at)
    const mark = markerOf(rest)
    // Only a list that begins with 1, and not with an empty item, may follow a paragraph without an empty line.
    if (mark === undefined || (isTight && !mayInterrupt(rest))) {
      scan.fence = fenceIn(rest, base)
      if (!scan.fence && html && TAG.test(rest) && !ONE_LINE.test(rest)) scan.html = htmlFrom(rest, base)
      const isLazy = scan.items.some(each => each > column)
      scan.paragraph = !scan.fence && !scan.html && !HEADING.test(rest) && !RULE.test(rest)
      if (paragraph && !isLazy && UNDERLINE.test(rest)) scan.paragraph = false
      return scan.fence !== undefined
    }
    const text = columnsBefore(line, at + mark.length, column + mark.length)
    const gap = text.column - column - mark.length
    scan.hollow = text.at === line.length
    const isFar = gap > 4 || scan.hollow
    scan.items.push(column + mark.length + (isFar ? 1 : gap))
    if (isFar || scan.items.length > DEEPEST) return false
    ;({ at, column } = text)
  }
}

/** Deeper lists are not followed: nobody writes them, and each level is looked at with every line. */
const DEEPEST = 12

function markerOf(rest: string): string | undefined {
  return RULE.test(rest) ? undefined : MARKER.exec(rest)?.[1]
}

function mayInterrupt(rest: string): boolean {
  return /^(?:[-*+]|0{0,8}1[.)])[ \t]+\S/.test(rest)
}

/** What ends a paragraph that it follows. */
function beginsBlock(rest: string): boolean {
  return (
    MARKER.test(rest) || HEADING.test(rest) || RULE.test(rest) || rest.startsWith('>') || fenceIn(rest, 0) !== undefined
  )
}

const HEADING = /^#{1,6}(?:[ \t]|$)/
const UNDERLINE = /^(?:=+|-+)[ \t]*$/
const MARKER = /^([-*+]|\d{1,9}[.)])(?=[ \t]|$)/
/** A line across the page, which looks like list markers. */
const RULE = /^([-*_])[ \t]*(?:\1[ \t]*){2,}$/
const TAG = /^<[A-Za-z/!?]/
/** An element on one line of text is no block of HTML. */
const ONE_LINE = /^<([a-z-]+)>[^<]+<\/\1>\s*$/

function htmlFrom(rest: string, base: number): Scan['html'] {
  const raw = /^<(pre|script|style|textarea)(?=[\s>]|$)/i.exec(rest)?.[1]
  const end = raw ? /<\/(pre|script|style|textarea)>/i : rest.startsWith('<!--') ? /-->/ : otherEnd(rest)
  return end?.test(rest) ? undefined : { end, base }
}

function otherEnd(rest: string): RegExp | undefined {
  if (rest.startsWith('<?')) return /\?>/
  if (rest.startsWith('<![CDATA[')) return /\]\]>/
  return /^<![A-Za-z]/.test(rest) ? />/ : undefined
}

function fenceIn(rest: string, base: number): Fence | undefined {
  const found = /^(`{3,}|~{3,})(.*)$/s.exec(rest)
  const [, fence = '', info = ''] = found ?? []
  if (!found || (fence.startsWith('`') && info.includes('`'))) return undefined
  return { mark: fence.charAt(0), length: fence.length, base }
}

function closes(rest: string, { mark, length }: Fence): boolean {
  const bare = rest.trimEnd()
  return bare.length >= length && [...bare].every(char => char === mark)
}

/** Where the first character that is no space stands, in characters and in columns: a tab leads to the next multiple of four. */
function columnsBefore(line: string, from: number, column = 0): { at: number; column: number } {
  let at = from
  for (; line[at] === ' ' || line[at] === '\t'; at++) column += line[at] === '\t' ? 4 - (column % 4) : 1
  return { at, column }
}
