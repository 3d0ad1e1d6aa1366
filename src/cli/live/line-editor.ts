import { widthOf } from '../render/text.ts'
import type { KeyQueue } from './keyboard.ts'

interface Desk {
  keys: KeyQueue
  signal: AbortSignal
  show(text: string): void
}

/** Columns of typed text that stay in sight; the beginning of a longer text scrolls away. */
const VISIBLE = 50

/** Reads one line: Enter sends it, Escape gives up, an empty one counts as given up. */
export async function editLine({ keys, signal, show }: Desk, label: string): Promise<string | undefined> {
  let typed = ''
  for (;;) {
    show(label + tail(typed))
    const key = await keys.next(signal)
    if (!key || key.name === 'escape') return undefined
    if (key.name === 'return' || key.name === 'enter') return typed.trim() || undefined
    if (key.name === 'backspace') typed = Array.from(typed).slice(0, -1).join('')
    else typed += key.text
  }
}

function tail(typed: string): string {
  let shown = typed
  while (widthOf(shown) > VISIBLE) shown = Array.from(shown).slice(1).join('')
  return shown === typed ? shown : `…${shown}`
}
