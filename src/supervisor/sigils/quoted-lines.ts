import { fencedLines, plainlyFencedLines } from './fenced-lines.ts'

/**
 * For each line of an agent's text, why it is not the agent's own word: it stands in a code fence, a quotation, an element or
 * a span of code. Undefined where it is. Where a text can be read in more than one way, a line counts only if it is free in
 * all of them.
 */
export function quotedLines(lines: readonly string[], ours: (tag: string) => boolean): (string | undefined)[] {
  const either = [false, true]
  const readings = [
    ...either.flatMap(html => either.map(listsNeedRoom => fencedLines(lines, { html, listsNeedRoom }))),
    plainlyFencedLines(lines),
  ]
  const fenced = lines.map((_, at) => readings.some(reading => reading[at]))
  const quoted = quotations(lines)
  const elements = insideElements(lines, ours)
  const spans = readings.map(reading => insideSpans(lines.map((line, at) => (reading[at] ? '' : line))))
  return lines.map((_, at) => {
    if (fenced[at]) return 'it stands in a code fence'
    if (quoted[at]) return 'it stands in a quotation'
    if (elements[at]) return 'it stands inside of an element'
    return spans.some(each => each[at]) ? 'it stands in a span of code' : undefined
  })
}

/** Behind `>`, and what follows such a line without an empty one between: that goes on with the quotation. */
function quotations(lines: readonly string[]): boolean[] {
  let open = false
  return lines.map(line => {
    if (/^[ \t]*((?:[-*+]|\d{1,9}[.)])[ \t]+)*>/.test(line)) open = true
    else if (line.trim() === '') open = false
    return open
  })
}

/** From a line that begins with a tag to the last one that closes it; a comment, to its end. */
function insideElements(lines: readonly string[], ours: (tag: string) => boolean): boolean[] {
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
    else if (name !== undefined && !ours(name)) until = Math.max(until, lastClosed.get(name) ?? -1)
    return isInside
  })
}

/** What these hold is not read at all, to the end of the text where they are not closed. */
const RAW = new Set(['pre', 'script', 'style', 'textarea'])

/** Between a run of backticks on a line before and an equal one on a line behind, in one paragraph; fenced lines are empty. */
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

/** What surely parts paragraphs, and what may: a heading, an item of a list. */
const PARAGRAPH_EDGES = [/^\s*$/, /^\s*$|^ {0,3}#{1,6}(\s|$)|^[ \t]*([-*+]|\d{1,9}[.)])([ \t]|$)/]

function markSpans(lines: readonly string[], { from, to }: { from: number; to: number }, inside: boolean[]): void {
  const runs: { line: number; length: number; escaped: boolean }[] = []
  for (let line = from; line < to; line++) {
    const text = lines[line] ?? ''
    for (const { 0: run, index } of text.matchAll(/`+/g)) {
      runs.push({ line, length: run.length, escaped: isEscaped(text, index) })
    }
  }
  const closings = closingOf(runs)
  for (let index = 0; index < runs.length; index++) {
    const closing = closings[index]
    const [opened, closed] = [runs[index]?.line, closing === undefined ? undefined : runs[closing]?.line]
    if (closing === undefined || opened === undefined || closed === undefined) continue
    for (let line = opened + 1; line < closed; line++) inside[line] = true
    index = closing
  }
}

/** For each run, the next one that would close it; a backslash takes away the first backtick of one that opens. */
function closingOf(runs: readonly { length: number; escaped: boolean }[]): (number | undefined)[] {
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
