import type { CodeChunk, CodeDefinition } from './parsed-file.ts'

/** The most that one chunk holds: 500 tokens, of which one is about three and a half characters of code. */
export const MOST_CHARS = 1750
const HEADER_CHARS = 600

/** Lines that stay together or are cut on. */
interface Piece {
  start: number
  end: number
  /** The definitions that they are part of, from the outside in. */
  around: readonly CodeDefinition[]
  definitions: CodeDefinition[]
}

/**
 * Cuts a file at its definitions. Neighbours that are small are joined, a definition that is too long is cut at those inside it, and one without any
 * by lines.
 */
export function cutDefinitions(path: string, text: string, definitions: readonly CodeDefinition[]): CodeChunk[] {
  const lines = new Lines(text)
  const whole = { start: 1, end: lines.count, around: [], definitions: [] }
  const pieces = cut(whole, withComments(definitions, lines), lines)
  return join(pieces, lines).map(({ start, end, around, definitions: inside }) => {
    const parts = [path, ...[...around, ...inside].map(({ signature }) => signature)]
    const header = [...new Set(parts)].join('\n').slice(0, HEADER_CHARS)
    const name = inside[0]?.name ?? around.at(-1)?.name
    return { startLine: start, endLine: end, header, ...(name !== undefined && { definition: name }) }
  })
}

/** Cuts a text without definitions by lines, at blank ones if possible; its headings tell what each piece is about. */
export function cutText(path: string, text: string): CodeChunk[] {
  const lines = new Lines(text)
  let heading: string | undefined
  return windows({ start: 1, end: lines.count, around: [], definitions: [] }, lines).map(({ start, end }) => {
    const headings = Array.from({ length: end - start + 1 }, (_, at) => lines.text(start + at)).filter(each =>
      /^#{1,6}\s/.test(each),
    )
    const header = [path, headings[0] ?? heading].filter(each => each !== undefined).join('\n')
    heading = headings.at(-1) ?? heading
    return { startLine: start, endLine: end, header: header.slice(0, HEADER_CHARS) }
  })
}

/** A definition begins with the comment above it. */
function withComments(definitions: readonly CodeDefinition[], lines: Lines): CodeDefinition[] {
  let free = 1
  return definitions.map(definition => {
    let startLine = definition.startLine
    while (startLine > free && /^\s*(?:\/\/|\/?\*|#|@|--)/.test(lines.text(startLine - 1))) startLine -= 1
    free = Math.max(free, definition.startLine + 1)
    return { ...definition, startLine }
  })
}

function cut(piece: Piece, inside: readonly CodeDefinition[], lines: Lines): Piece[] {
  const { start, end, around } = piece
  if (inside.length === 0) return windows(piece, lines)
  if (around.length > 0 && lines.size(start, end) <= MOST_CHARS) return [piece]
  const pieces: Piece[] = []
  let next = start
  let { definitions } = piece
  const cutLines = (end: number) => {
    pieces.push(...windows({ start: next, end, around, definitions }, lines))
    definitions = []
  }
  for (let at = 0; at < inside.length; ) {
    const definition = inside[at] as CodeDefinition
    let after = at + 1
    while ((inside[after]?.startLine ?? Number.POSITIVE_INFINITY) <= definition.endLine) after += 1
    const from = Math.max(definition.startLine, next)
    const until = Math.min(definition.endLine, end)
    if (from > next) cutLines(from - 1)
    if (until >= from) {
      const own = { start: from, end: until, around: [...around, definition], definitions: [definition] }
      const parts = cut(own, inside.slice(at + 1, after), lines)
      // A definition in one piece belongs to what is around it, and can be joined with its neighbours.
      pieces.push(...(parts.length === 1 ? parts.map(part => ({ ...part, around, definitions: [definition] })) : parts))
      next = until + 1
    }
    at = after
  }
  if (next <= end) cutLines(end)
  return pieces
}

/** Cuts by lines; at a blank line if there is one in the second half. A single line is never cut. */
function windows(piece: Piece, lines: Lines): Piece[] {
  const pieces: Piece[] = []
  let { start } = piece
  while (start <= piece.end) {
    let end = lines.fits(start, piece.end)
    if (end < piece.end) {
      const half = start + Math.floor((end - start) / 2)
      end =
        lines.last(half, end, line => /^#{1,6}\s/.test(lines.text(line + 1))) ??
        lines.last(half, end, line => lines.text(line).trim() === '') ??
        end
    }
    pieces.push({ ...piece, start, end, definitions: pieces.length === 0 ? piece.definitions : [] })
    start = end + 1
  }
  return pieces
}

/** Joins neighbours inside the same definition while they fit into one chunk. */
function join(pieces: readonly Piece[], lines: Lines): Piece[] {
  const joined: Piece[] = []
  for (const piece of pieces) {
    const last = joined.at(-1)
    if (last && last.around.at(-1) === piece.around.at(-1) && lines.size(last.start, piece.end) <= MOST_CHARS) {
      last.end = piece.end
      last.definitions = [...last.definitions, ...piece.definitions]
    } else joined.push({ ...piece })
  }
  return joined
}

/** A text by its lines, counted from 1, with the place where each begins. */
class Lines {
  readonly #text: string
  readonly #starts: number[] = [0]

  constructor(text: string) {
    this.#text = text
    for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) this.#starts.push(at + 1)
    if (this.#starts.at(-1) === text.length) this.#starts.pop()
  }

  get count(): number {
    return this.#starts.length
  }

  text(line: number): string {
    return this.#text.slice(this.#at(line), this.#at(line + 1)).trimEnd()
  }

  size(start: number, end: number): number {
    return this.#at(end + 1) - this.#at(start)
  }

  /** The last line that still fits into a chunk that begins here. */
  fits(start: number, end: number): number {
    let line = start
    while (line < end && this.size(start, line + 1) <= MOST_CHARS) line += 1
    return line
  }

  /** The last line of a range, whose first one is left out, that is what is looked for. */
  last(after: number, end: number, isFound: (line: number) => boolean): number | undefined {
    for (let line = end; line > after; line -= 1) if (isFound(line)) return line
    return undefined
  }

  #at(line: number): number {
    return this.#starts[line - 1] ?? this.#text.length
  }
}
