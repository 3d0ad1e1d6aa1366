import { cut } from '../render/text.ts'

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
    if (shown !== undefined) stream.write(cut(shown, (stream.columns || 80) - 1))
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
