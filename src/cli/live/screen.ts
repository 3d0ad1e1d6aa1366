import { widthOf } from '../render/text.ts'

/** Lines that scroll, under them what is asked right now, and under that one line that comes and goes: the prompt. */
export interface Screen {
  /** Whether a line can change in place. */
  readonly ticks: boolean
  print(lines: string[]): void
  /** Keeps lines right above the prompt, whatever is printed meanwhile, or changes them; without lines they are let go and stay where they are. */
  pin(lines: string[] | undefined): void
  /** Shows the prompt, changes it, or takes it away. */
  prompt(line: string | undefined): void
}

interface Output {
  write(text: string): unknown
  isTTY?: boolean
  columns?: number
  rows?: number
}

/** A screen on a stream. Where nobody can type, prompts are not drawn and what is pinned is printed once, as it grows. */
export function openScreen(stream: Output): Screen {
  let shown: string | undefined
  let pinned: string[] = []
  const clear = (rowsAbove: number) => {
    if (shown !== undefined || rowsAbove > 0) stream.write(`\r\x1b[2K${'\x1b[1A\x1b[2K'.repeat(rowsAbove)}`)
  }
  const drawPrompt = () => {
    if (shown !== undefined) stream.write(fitted(shown, (stream.columns || 80) - 1))
  }
  /** Under what is printed by `above` the pinned lines are drawn again. */
  const redraw = (above: string, lines: string[]) => {
    const rows = rowsOf(pinned, stream.columns || 80)
    // What has scrolled off the top cannot be taken back: it stays, and is shown anew below.
    clear(rows < (stream.rows || 24) ? rows : 0)
    pinned = lines
    stream.write(above + asText(lines))
    drawPrompt()
  }
  return {
    ticks: stream.isTTY === true,
    print(lines) {
      if (lines.length === 0) return
      if (stream.isTTY) redraw(asText(lines), pinned)
      else stream.write(asText(lines))
    },
    pin(lines) {
      if (lines && stream.isTTY) redraw('', lines)
      else if (lines) stream.write(asText(lines.slice(pinned.length)))
      pinned = lines ?? []
    },
    prompt(line) {
      if (!stream.isTTY) return
      clear(0)
      shown = line
      drawPrompt()
    },
  }
}

function asText(lines: string[]): string {
  return lines.map(line => `${line}\n`).join('')
}

/** A line that was printed for a wider terminal takes more than one row. */
function rowsOf(lines: string[], columns: number): number {
  return lines.reduce((rows, line) => rows + Math.max(1, Math.ceil(widthOf(line) / columns)), 0)
}

/** What is typed stands at the end, so a prompt that is too wide loses its indentation first and then its beginning. */
function fitted(line: string, width: number): string {
  let shown = widthOf(line) > width ? line.trimStart() : line
  while (widthOf(shown) > width) shown = `…${Array.from(shown).slice(2).join('')}`
  return shown
}
