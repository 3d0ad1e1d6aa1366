import { boxPath, isBox } from './box.ts'
import type { Cell } from './screen.ts'
import { type Style, sameStyle } from './style.ts'

const CELL = { width: 8.43, height: 18 }
const MARGIN = { side: 18, top: 52, bottom: 18 }
const BASELINE = 13.5
const FOREGROUND = '#c9d1d9'
const FONT = "ui-monospace, SFMono-Regular, Menlo, 'DejaVu Sans Mono', 'Liberation Mono', Consolas, monospace"

/** Draws a screen as a terminal window. */
export function svgOf({ rows, columns, title }: { rows: Cell[][]; columns: number; title: string }): string {
  const width = Math.round(columns * CELL.width + 2 * MARGIN.side)
  const height = MARGIN.top + rows.length * CELL.height + MARGIN.bottom
  const buttons = ['#ff5f57', '#febc2e', '#28c840'].map(
    (color, n) => `<circle cx="${24 + n * 20}" cy="22" r="6" fill="${color}"/>`,
  )
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">
<title>${escaped(title)}</title>
<rect width="${width}" height="${height}" rx="10" fill="#0d1117" stroke="#30363d"/>
${buttons.join('')}
<text x="${width / 2}" y="27" text-anchor="middle" font-family="system-ui, sans-serif" font-size="13" fill="#8b949e">${escaped(title)}</text>
<g font-family="${FONT}" font-size="14" fill="${FOREGROUND}">
${rows
  .map((cells, n) => lineOf(cells, MARGIN.top + n * CELL.height))
  .filter(line => line !== '')
  .join('\n')}
</g>
</svg>
`
}

function lineOf(cells: Cell[], y: number): string {
  const runs = runsOf(cells).filter(run => run.text.trim() !== '')
  const boxes = runs.filter(run => isBox(run.text.charAt(0))).map(run => boxesOf(run, y))
  const words = runs.filter(run => !isBox(run.text.charAt(0))).map(spanOf)
  const text = words.length > 0 ? `<text y="${y + BASELINE}" xml:space="preserve">${words.join('')}</text>` : ''
  return [...boxes, text].filter(piece => piece !== '').join('\n')
}

/** Draws box characters as lines, because in a font they are only as high as the font and boxes have gaps between lines. */
function boxesOf({ text, column, style }: Run, y: number): string {
  const paths = [...text].map((character, n) =>
    boxPath(character, { x: MARGIN.side + (column + n) * CELL.width, y, ...CELL }),
  )
  const opacity = style.dim ? ' stroke-opacity="0.6"' : ''
  return `<path d="${paths.join('')}" fill="none" stroke="${style.color ?? FOREGROUND}"${opacity}/>`
}

interface Run {
  column: number
  columns: number
  text: string
  style: Style
}

/**
 * Groups neighbours of the same style. Each run is placed at its column and stretched to its width, so that boxes close in
 * every font. A wide character is a run of its own, because fonts disagree most about those.
 */
function runsOf(cells: Cell[]): Run[] {
  const runs: Run[] = []
  cells.forEach(({ text, style }, column) => {
    const last = runs.at(-1)
    if (text === '') {
      if (last) last.columns += 1
      return
    }
    const wide = cells[column + 1]?.text === ''
    const joins =
      last &&
      !wide &&
      last.columns === [...last.text].length &&
      isBox(last.text.charAt(0)) === isBox(text) &&
      sameStyle(last.style, style)
    if (!joins) {
      runs.push({ column, columns: 1, text, style })
      return
    }
    last.text += text
    last.columns += 1
  })
  return runs.map(trimmed)
}

function trimmed(run: Run): Run {
  const start = run.text.length - run.text.trimStart().length
  const text = run.text.trim()
  const removed = run.text.length - text.length
  return { ...run, text, column: run.column + start, columns: run.columns - removed }
}

function spanOf({ column, columns, text, style }: Run): string {
  const x = round(MARGIN.side + column * CELL.width)
  const looks = [
    style.color && `fill="${style.color}"`,
    style.bold && 'font-weight="bold"',
    style.italic && 'font-style="italic"',
    style.underline && 'text-decoration="underline"',
    style.dim && 'fill-opacity="0.6"',
  ].filter(Boolean)
  const size = `textLength="${round(columns * CELL.width)}" lengthAdjust="spacingAndGlyphs"`
  return `<tspan x="${x}" ${[size, ...looks].join(' ')}>${escaped(text)}</tspan>`
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}
