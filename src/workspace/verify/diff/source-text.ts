import { anyKind, parseTree } from '../../../base/syntax/grammar.ts'
import { LANGUAGES, languageOf } from '../../../base/syntax/languages.ts'

/** A source text with versions of the same length in which comments, or comments and strings, are blanked. */
export interface Masked {
  /** The original text. */
  text: string
  /** Without comments and without the content of strings; the quotes themselves stay. */
  code: string
  /** Without comments. */
  bare: string
}

/** Longer texts are not masked: nobody wrote them, and a tree uses forty times the memory of its text. */
const LONGEST = 600_000

/**
 * Blanks comments and strings, so that a word in one is never mistaken for code. They are read from the syntax tree, which there is for any text, also
 * for half a file. Where a grammar is not installed, nothing is blanked.
 */
export function mask(text: string, path: string): Masked {
  const language = languageOf(path.toLowerCase()) ?? LANGUAGES[0]
  const root = language && text.length <= LONGEST ? parseTree(language, text) : undefined
  if (!root || !language) return { text, code: text, bare: text }
  const comments: [number, number][] = []
  const strings: [number, number][] = []
  for (const node of root.findAll(anyKind(language, [...COMMENTS, ...STRINGS]))) {
    const { start, end } = node.range()
    if (COMMENTS.includes(node.kind() as string)) comments.push([start.index, end.index])
    else strings.push(contentOf(text, start.index, end.index))
  }
  const bare = blank(text, comments)
  return { text, bare, code: blank(bare, strings) }
}

const COMMENTS = ['comment', 'line_comment', 'block_comment', 'html_comment', 'hash_bang_line']
const STRINGS = [
  ...['string', 'template_string', 'regex', 'string_literal', 'raw_string_literal', 'char_literal'],
  ...['interpreted_string_literal', 'rune_literal'],
]

/** The range between the quotes: `f"…"`, `r#"…"#`, `/…/g`. */
function contentOf(text: string, from: number, to: number): [number, number] {
  const open = /^[a-zA-Z]*(#*)("""|'''|["'`/])/.exec(text.slice(from, from + 20))
  if (!open) return [from, to]
  const [whole, hashes = '', quote = ''] = open
  const close = quote === '/' ? to - text.lastIndexOf('/', to - 1) : quote.length + hashes.length
  return [from + whole.length, Math.max(from + whole.length, to - close)]
}

/** The text with some ranges replaced by blanks; lines stay. A range may be inside another. */
function blank(text: string, ranges: readonly [number, number][]): string {
  const parts: string[] = []
  let at = 0
  for (const [from, to] of ranges) {
    if (to <= at) continue
    const begin = Math.max(from, at)
    parts.push(text.slice(at, begin), text.slice(begin, to).replace(/[^\n]/g, ' '))
    at = to
  }
  return [...parts, text.slice(at)].join('')
}

const CLOSES: Record<string, string> = { '(': ')', '[': ']', '{': '}' }

/** The position after the bracket that closes the one at `open`, in masked code; the end of the text where none does. */
export function closingOf(code: string, open: number): number {
  const expected: string[] = []
  const end = Math.min(code.length, open + LONGEST_BLOCK)
  for (let at = open; at < end; at++) {
    const sign = code[at] ?? ''
    const closing = CLOSES[sign]
    if (closing !== undefined) expected.push(closing)
    else if (sign === expected.at(-1)) {
      expected.pop()
      if (expected.length === 0) return at + 1
    }
  }
  return end
}

/** No person writes a longer block; brackets that are never closed must not take quadratic time. */
const LONGEST_BLOCK = 100_000

/** The parts between commas within a range, as positions: `[from, to]` of each part. */
export function partsOf(code: string, from: number, to: number): [number, number][] {
  const parts: [number, number][] = []
  let begin = from
  let depth = 0
  for (let at = from; at < to; at++) {
    const sign = code[at] ?? ''
    if (sign in CLOSES) depth += 1
    else if (/[)\]}]/.test(sign)) depth -= 1
    else if (sign === ',' && depth === 0) {
      parts.push([begin, at])
      begin = at + 1
    }
  }
  if (code.slice(begin, to).trim() !== '') parts.push([begin, to])
  return parts
}

/** The line of a position, from 1. */
export function lineAt(text: string, place: number): number {
  let line = 1
  for (let at = text.indexOf('\n'); at >= 0 && at < place; at = text.indexOf('\n', at + 1)) line += 1
  return line
}
