import { widthOf } from '../render/text.ts'

/** Lines that stay, and under them one line that comes and goes: the prompt. */
export interface Screen {
  print(lines: string[]): void
  /** Shows the prompt, changes it, or takes it away. */
  prompt(line: string | undefined): void
}

interface Output {
  write(text: string): unknown
  isTTY?: boolean
  columns?: number
}

/** A screen on a stream. Where nobody can type, prompts are not drawn. */
export function openScreen(stream: Output): Screen {
  let shown: string | undefined
  const erase = () => {
    if (shown !== undefined) stream.write('\r\x1b[2K')
  }
  const draw = () => {
    if (shown !== undefined) stream.write(fitted(shown, (stream.columns || 80) - 1))
  }
  return {
    print(lines) {
      if (lines.length === 0) return
      erase()
      stream.write(`${lines.join('\n')}\n`)
      draw()
    },
    prompt(line) {
      if (!stream.isTTY) return
      erase()
      shown = line
      draw()
    },
  }
}

/** What is typed stands at the end, so a prompt that is too wide loses its indentation first and then its beginning. */
function fitted(line: string, width: number): string {
  let shown = widthOf(line) > width ? line.trimStart() : line
  while (widthOf(shown) > width) shown = `…${Array.from(shown).slice(2).join('')}`
  return shown
}
