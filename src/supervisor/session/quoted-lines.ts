/**
 * For each line of an agent's text, why it is not the agent's own statement: it stands in a code fence, a quotation, an
 * element or a span of code. Undefined for the agent's own lines. If a text can be parsed in more than one way, a line
 * counts as the agent's own only if it does in every one of them.
 */
export function quotedLines(lines: readonly string[], isSigil: (tag: string) => boolean): (string | undefined)[] {
  const either = [false, true]
  const readings = [
    ...either.flatMap(html => either.map(listsNeedRoom => fencedLines(lines, { html, listsNeedRoom }))),
    plainlyFencedLines(lines),
  ]
  const fenced = lines.map((_, at) => readings.some(reading => reading[at]))
  const quoted = quotations(lines)
  const elements = insideElements(lines, isSigil)
  const spans = readings.map(reading => insideSpans(lines.map((line, at) => (reading[at] ? '' : line))))
  return lines.map((_, at) => {
    if (fenced[at]) return 'it stands in a code fence'
    if (quoted[at]) return 'it stands in a quotation'
    if (elements[at]) return 'it stands inside of an element'
    return spans.some(reading => reading[at]) ? 'it stands in a span of code' : undefined
  })
}

/** Lines that begin with `>`, and the lines after them up to the next empty one, which continue the quotation. */
function quotations(lines: readonly string[]): boolean[] {
  let open = false
  return lines.map(line => {
    if (/^[ \t]*((?:[-*+]|\d{1,9}[.)])[ \t]+)*>/.test(line)) open = true
    else if (line.trim() === '') open = false
    return open
  })
}

/** Lines from one that begins with a tag to the last one that closes it; for a comment, to its end. */
function insideElements(lines: readonly string[], isSigil: (tag: string) => boolean): boolean[] {
  const lastClosed = new Map<string, number>()
  for (const [at, line] of lines.entries()) {
    for (const [, name = ''] of line.matchAll(/<\/([A-Za-z][\w-]*)/g)) lastClosed.set(name.toLowerCase(), at)
    if (line.includes('-->')) lastClosed.set('!--', at)
  }
  let until = -1
  return lines.map((line, at) => {
    const name = /^[ \t]{0,3}(?:[-*+][ \t]+)?<(!--|[A-Za-z][\w-]*)/.exec(line)?.[1]?.toLowerCase()
    const isInside = at <= until
    if (name === '!--' && !line.includes('-->')) until = Math.max(until, lastClosed.get(name) ?? lines.length)
    else if (name !== undefined && RAW.has(name) && !lastClosed.has(name)) until = lines.length
    else if (name !== undefined && !isSigil(name)) until = Math.max(until, lastClosed.get(name) ?? -1)
    return isInside
  })
}

/** The content of these is never parsed, up to the end of the text where they are not closed. */
const RAW = new Set(['pre', 'script', 'style', 'textarea'])

/**
 * Lines between a run of backticks on an earlier line and an equal one on a later line of the same paragraph. Fenced lines
 * are passed in as empty.
 */
function insideSpans(lines: readonly string[]): boolean[] {
  const inside = lines.map(() => false)
  for (const edge of PARAGRAPH_EDGES) {
    let from = 0
    for (let at = 0; at <= lines.length; at++) {
      const line = lines[at]
      if (line !== undefined && !edge.test(line)) continue
      markSpans(lines, { from, to: at }, inside)
      from = at
    }
  }
  return inside
}

/** Lines that certainly separate paragraphs; and lines that may, such as a heading or a list item. */
const PARAGRAPH_EDGES = [/^\s*$/, /^\s*$|^ {0,3}#{1,6}(\s|$)|^[ \t]*([-*+]|\d{1,9}[.)])([ \t]|$)/]

function markSpans(lines: readonly string[], { from, to }: { from: number; to: number }, inside: boolean[]): void {
  const runs: { line: number; length: number; escaped: boolean }[] = []
  for (let line = from; line < to; line++) {
    const text = lines[line] ?? ''
    for (const { 0: run, index } of text.matchAll(/`+/g)) {
      runs.push({ line, length: run.length, escaped: isEscaped(text, index) })
    }
  }
  const closings = findClosings(runs)
  for (let index = 0; index < runs.length; index++) {
    const closing = closings[index]
    const [opened, closed] = [runs[index]?.line, closing === undefined ? undefined : runs[closing]?.line]
    if (closing === undefined || opened === undefined || closed === undefined) continue
    for (let line = opened + 1; line < closed; line++) inside[line] = true
    index = closing
  }
}

/** For each run of backticks, the next one that would close it. A backslash escapes the first backtick of an opening run. */
function findClosings(runs: readonly { length: number; escaped: boolean }[]): (number | undefined)[] {
  const next = new Map<number, number>()
  return runs
    .map((run, index) => ({ ...run, index }))
    .reverse()
    .map(({ length, escaped, index }) => {
      const closing = next.get(escaped ? length - 1 : length)
      next.set(length, index)
      return closing
    })
    .reverse()
}

function isEscaped(text: string, at: number): boolean {
  let from = at
  while (text[from - 1] === '\\') from--
  return (at - from) % 2 === 1
}

/** One of the ways to parse a text where Markdown parsers disagree. */
interface FenceRules {
  /** A line that begins like a tag opens an HTML block, in which no other block begins before an empty line. */
  html: boolean
  /** A list needs an empty line after indented code, as it does after a paragraph. */
  listsNeedRoom: boolean
}

interface Fence {
  mark: string
  length: number
  /** The column at which the content of the enclosing list item begins; 0 outside of lists. */
  base: number
}

/**
 * For each line, whether it belongs to a fenced block, including the fences, by the rules of CommonMark: a list item contains
 * blocks, and they end at a line that is not indented far enough. Linear in the length of the text, because an agent wrote it
 * and the daemon reads it: remark takes 50 seconds for 20 KB of `- - - …`. Tests compare the two.
 */
function fencedLines(lines: readonly string[], reading: FenceRules): boolean[] {
  const scan: Scan = { items: [], fence: undefined, html: undefined, paragraph: false, code: false, hollow: false }
  return lines.map(line => scanLine(line, scan, reading))
}

/** The same without counting columns: a fence counts at any indentation. */
export function plainlyFencedLines(lines: readonly string[]): boolean[] {
  let fence: Fence | undefined
  return lines.map(line => {
    const before = fence
    fence = plainStep(line, before)
    return before !== undefined || fence !== undefined
  })
}

/** The text that closes the fence which a text leaves open, by the same simple rule; undefined if no fence is open. */
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
  /** The previous line was text, which the next line may continue however little it is indented. */
  paragraph: boolean
  /** The previous line was indented code. */
  code: boolean
  /** The previous line was a list marker alone: an empty line ends that item. */
  hollow: boolean
}

function scanLine(line: string, scan: Scan, reading: FenceRules): boolean {
  const start = skipSpaces(line, 0)
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
  if (!isBlank) return openBlock(line, start, scan, reading)
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

/** Skips the list markers at the beginning of a line and finds out what the rest of the line is. */
function openBlock(
  line: string,
  start: { at: number; column: number },
  scan: Scan,
  { html, listsNeedRoom }: FenceRules,
): boolean {
  let { at, column } = start
  const { paragraph } = scan
  // An item of an open list may follow anything.
  const isTight = scan.items.length === 0 && (paragraph || (listsNeedRoom && scan.code))
  if (!paragraph || beginsBlock(line.slice(at))) scan.items = scan.items.filter(base => base <= column)
  scan.paragraph = false
  scan.code = false
  for (;;) {
    const base = scan.items.findLast(item => item <= column) ?? 0
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
      const isLazy = scan.items.some(item => item > column)
      scan.paragraph = !scan.fence && !scan.html && !HEADING.test(rest) && !RULE.test(rest)
      if (paragraph && !isLazy && UNDERLINE.test(rest)) scan.paragraph = false
      return scan.fence !== undefined
    }
    const text = skipSpaces(line, at + mark.length, column + mark.length)
    const gap = text.column - column - mark.length
    scan.hollow = text.at === line.length
    const isFar = gap > 4 || scan.hollow
    scan.items.push(column + mark.length + (isFar ? 1 : gap))
    if (isFar || scan.items.length > DEEPEST) return false
    ;({ at, column } = text)
  }
}

/** Deeper lists are not followed: nobody writes them, and every line costs one check per level. */
const DEEPEST = 12

function markerOf(rest: string): string | undefined {
  return RULE.test(rest) ? undefined : MARKER.exec(rest)?.[1]
}

function mayInterrupt(rest: string): boolean {
  return /^(?:[-*+]|0{0,8}1[.)])[ \t]+\S/.test(rest)
}

/** Whether a line ends the paragraph before it. */
function beginsBlock(rest: string): boolean {
  return (
    MARKER.test(rest) || HEADING.test(rest) || RULE.test(rest) || rest.startsWith('>') || fenceIn(rest, 0) !== undefined
  )
}

const HEADING = /^#{1,6}(?:[ \t]|$)/
const UNDERLINE = /^(?:=+|-+)[ \t]*$/
const MARKER = /^([-*+]|\d{1,9}[.)])(?=[ \t]|$)/
/** A thematic break, which looks like list markers. */
const RULE = /^([-*_])[ \t]*(?:\1[ \t]*){2,}$/
const TAG = /^<[A-Za-z/!?]/
/** An element on a single line is no HTML block. */
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
  const match = /^(`{3,}|~{3,})(.*)$/s.exec(rest)
  const [, fence = '', info = ''] = match ?? []
  if (!match || (fence.startsWith('`') && info.includes('`'))) return undefined
  return { mark: fence.charAt(0), length: fence.length, base }
}

function closes(rest: string, { mark, length }: Fence): boolean {
  const bare = rest.trimEnd()
  return bare.length >= length && [...bare].every(char => char === mark)
}

/**
 * The position of the first character that is not a space, in characters and in columns: a tab leads to the next multiple of
 * four.
 */
function skipSpaces(line: string, from: number, column = 0): { at: number; column: number } {
  let at = from
  for (; line[at] === ' ' || line[at] === '\t'; at++) column += line[at] === '\t' ? 4 - (column % 4) : 1
  return { at, column }
}
