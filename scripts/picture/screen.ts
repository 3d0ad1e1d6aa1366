import { type Style, styled } from './style.ts'

/** One column of the screen; a wide character leaves an empty cell after itself. */
export interface Cell {
  text: string
  style: Style
}

/** The content of a terminal of this width and unlimited height after some output. Supports the few control sequences that we use. */
export function screenOf(output: string, columns = 80): Cell[][] {
  const rows: Cell[][] = [[]]
  let row = 0
  let column = 0
  let style: Style = {}
  for (const { text, control } of pieces(output)) {
    if (control === 'm') style = styled(style, text)
    else if (control === 'A') row = Math.max(0, row - (Number(text) || 1))
    else if (control === 'B') row += Number(text) || 1
    else if (control === 'G') column = (Number(text) || 1) - 1
    else if (control === 'K') line(row).splice(text === '2' ? 0 : column)
    else if (control === 'J') {
      line(row).splice(column)
      rows.splice(row + 1)
    } else if (control !== undefined) continue
    else if (text === '\r') column = 0
    else if (text === '\n') row += 1
    else if (text >= ' ') {
      if (column + widthOf(text) > columns) [row, column] = [row + 1, 0]
      column += put(line(row), column, { text, style })
    }
    line(row)
  }
  return rows.map(cells => withoutTrailingBlanks(cells))

  function line(at: number): Cell[] {
    while (rows.length <= at) rows.push([])
    return rows[at] ?? []
  }
}

/** Writes one character and returns how many columns it took. */
function put(cells: Cell[], column: number, cell: Cell): number {
  while (cells.length < column) cells.push({ text: ' ', style: {} })
  const width = widthOf(cell.text)
  cells[column] = cell
  if (width === 2) cells[column + 1] = { text: '', style: cell.style }
  return width
}

/** Terminals draw emoji two columns wide, and other characters if a variation selector asks for it. */
function widthOf(character: string): number {
  return /\p{Emoji_Presentation}|\uFE0F/u.test(character) ? 2 : 1
}

/** Characters and control sequences in order. Links (OSC 8) and other operating system commands draw nothing. */
function* pieces(output: string): Generator<{ text: string; control?: string | undefined }> {
  const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' })
  const escapes = /\x1b\[([0-9;?]*)([A-Za-z])|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[=>()][0-9A-B]?/g
  let from = 0
  for (const match of output.matchAll(escapes)) {
    yield* characters(output.slice(from, match.index))
    if (match[2] !== undefined) yield { text: match[1] ?? '', control: match[2] }
    from = match.index + match[0].length
  }
  yield* characters(output.slice(from))

  function* characters(text: string): Generator<{ text: string }> {
    for (const { segment } of segmenter.segment(text)) {
      if (segment === '\r\n') {
        yield { text: '\r' }
        yield { text: '\n' }
      } else yield { text: segment }
    }
  }
}

function withoutTrailingBlanks(cells: Cell[]): Cell[] {
  const last = cells.findLastIndex(cell => cell.text.trim() !== '')
  return cells.slice(0, last + 1)
}
