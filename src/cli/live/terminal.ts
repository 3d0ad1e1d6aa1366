import { once } from 'node:events'
import { emitKeypressEvents, type Key as NodeKey } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ReadStream } from 'node:tty'
import { breakLines, widthOf } from '../render/text.ts'

/** Lines that scroll; below them the pinned lines (the current ask); below those the prompt, a line that comes and goes. */
export interface Screen {
  /** Whether a line can be redrawn in place. */
  readonly ticks: boolean
  print(lines: string[]): void
  /** Keeps lines right above the prompt, whatever is printed meanwhile; `undefined` releases them, and they then scroll. */
  pin(lines: string[] | undefined): void
  /** Shows or changes the prompt; `undefined` removes it. */
  prompt(line: string | undefined): void
}

interface Output {
  write(text: string): unknown
  isTTY?: boolean
  columns?: number
  rows?: number
}

/** Opens a screen on a stream. Without a terminal, prompts are not drawn, and pinned lines are printed once as they are added. */
export function openScreen(stream: Output): Screen {
  let currentPrompt: string | undefined
  let pinned: string[] = []
  /** No line breaks within a word. */
  const fit = (lines: string[]) => lines.flatMap(line => breakLines(line, stream.columns || 80).split('\n'))
  const clear = (rowsAbove: number) => {
    if (currentPrompt !== undefined || rowsAbove > 0) stream.write(`\r\x1b[2K${'\x1b[1A\x1b[2K'.repeat(rowsAbove)}`)
  }
  const drawPrompt = () => {
    if (currentPrompt !== undefined) stream.write(fitPrompt(currentPrompt, (stream.columns || 80) - 1))
  }
  /** Prints the text `above` and draws the pinned lines below it again. */
  const redraw = (above: string, lines: string[]) => {
    const rows = countRows(pinned, stream.columns || 80)
    // Lines that have scrolled off the top cannot be erased: they stay and are drawn again below.
    clear(rows < (stream.rows || 24) ? rows : 0)
    pinned = lines
    stream.write(above + asText(lines))
    drawPrompt()
  }
  return {
    ticks: stream.isTTY === true,
    print(lines) {
      if (lines.length === 0) return
      if (stream.isTTY) redraw(asText(fit(lines)), pinned)
      else stream.write(asText(lines))
    },
    pin(lines) {
      if (lines && stream.isTTY) redraw('', fit(lines))
      else if (lines) stream.write(asText(lines.slice(pinned.length)))
      if (!lines || !stream.isTTY) pinned = lines ?? []
    },
    prompt(line) {
      if (!stream.isTTY) return
      clear(0)
      currentPrompt = line
      drawPrompt()
    },
  }
}

function asText(lines: string[]): string {
  return lines.map(line => `${line}\n`).join('')
}

/** A line that was printed for a wider terminal takes more than one row. */
function countRows(lines: string[], columns: number): number {
  return lines.reduce((rows, line) => rows + Math.max(1, Math.ceil(widthOf(line) / columns)), 0)
}

/**
 * Typed text is at the end of the prompt. A prompt that is too wide loses its indentation first, then what stands before its keys and
 * words about them, and then its beginning.
 */
export function fitPrompt(line: string, width: number): string {
  const isTooWide = (text: string) => widthOf(text) > width
  let fitted = isTooWide(line) ? line.trimStart() : line
  const [, keys, typed = ''] = /^[^[>]*(\[[^>]*> )(.*)$/s.exec(fitted) ?? []
  if (isTooWide(fitted) && keys !== undefined) {
    const forms = [keys, ...SHORTER_KEYS.map(shorten => shorten(keys))]
    fitted = `${forms.find(form => !isTooWide(form + typed)) ?? forms.at(-1)}${typed}`
  }
  while (isTooWide(fitted)) fitted = `…${Array.from(fitted).slice(2).join('')}`
  return fitted
}

/** The keys of a prompt in fewer words, each form shorter than the one before. */
const SHORTER_KEYS: readonly ((keys: string) => string)[] = [
  keys => keys.replaceAll('  ', ' '),
  keys => keys.replaceAll('  ', ' ').replace('deny and say why', 'say why').replace(' custom', ''),
  keys => keys.replace(/(\[[\w-]+\])[^[>]*/g, '$1 '),
]

export interface Key {
  /** `return`, `escape`, `backspace`, or the character itself. */
  name: string
  /** The text that the key types; empty for keys that type nothing. */
  text: string
}

/** The keys that are typed while one question is open, in order. */
export interface KeyQueue extends Disposable {
  next(signal: AbortSignal): Promise<Key | undefined>
}

export interface Keyboard extends Disposable {
  keys(): KeyQueue
}

export interface ControlKeys {
  onInterrupt(): void
  onEnd(): void
  /** Any other key while something is asked. */
  onKey?(): void
}

/**
 * Reads single keys from a terminal. Ctrl+C and Ctrl+D go to their own handlers whatever else is going on; keys typed
 * while nothing is asked are dropped, so that nobody allows something they have not seen.
 */
export function openKeyboard(stdin: ReadStream, controls: ControlKeys): Keyboard {
  let queue: { push(key: Key): void } | undefined
  const onKey = (text: string | undefined, key: NodeKey) => {
    if (key.ctrl && key.name === 'c') return controls.onInterrupt()
    if (key.ctrl && key.name === 'd') return controls.onEnd()
    if (queue) controls.onKey?.()
    queue?.push({
      name: key.name ?? text ?? '',
      text: key.ctrl || key.meta || /[\x00-\x1f\x7f]/.test(text ?? '') ? '' : (text ?? ''),
    })
  }
  emitKeypressEvents(stdin)
  stdin.setRawMode(true)
  stdin.on('keypress', onKey)
  stdin.resume()
  return {
    keys() {
      const opened = keyQueue(() => {
        if (queue === opened) queue = undefined
      })
      queue = opened
      return opened
    },
    [Symbol.dispose]() {
      stdin.off('keypress', onKey)
      stdin.setRawMode(false)
      stdin.pause()
    },
  }
}

function keyQueue(onClose: () => void): KeyQueue & { push(key: Key): void } {
  const waiting: Key[] = []
  let wake: (() => void) | undefined
  return {
    push(key) {
      waiting.push(key)
      wake?.()
    },
    async next(signal) {
      while (waiting.length === 0 && !signal.aborted) {
        await new Promise<void>(resolve => {
          wake = resolve
          signal.addEventListener('abort', () => resolve(), { once: true })
        })
      }
      return signal.aborted ? undefined : waiting.shift()
    },
    [Symbol.dispose]: onClose,
  }
}

const EVERY_MS = 1_000

export interface WatchedPage {
  /** The page as it is now. */
  page(): Promise<string[]>
  json: boolean
  out(line: string): void
}

/** Shows a page until Ctrl+C: redrawn in place on a terminal, otherwise printed again whenever it changes. */
export async function watchPage({ page, json, out }: WatchedPage): Promise<void> {
  const leave = new AbortController()
  const interrupted = once(process, 'SIGINT', { signal: leave.signal }).then(
    () => leave.abort(),
    () => undefined, // ended in another way
  )
  const screen = openScreen(process.stdout)
  let last = ''
  try {
    while (!leave.signal.aborted) {
      const lines = await page()
      const text = lines.join('\n')
      if (text !== last && json) out(text)
      else if (text !== last && process.stdout.isTTY) screen.pin(lines)
      else if (text !== last) screen.print([...(last === '' ? [] : ['']), ...lines])
      last = text
      await sleep(EVERY_MS, undefined, { signal: leave.signal }).catch(() => undefined) // Ctrl+C ends the wait
    }
  } finally {
    leave.abort()
    await interrupted
  }
}

export type Ink = typeof import('ink')

/** Loads Ink, which draws full screens. React runs in production mode, because it otherwise keeps a record of every render. */
export async function loadInk(): Promise<Ink> {
  const { NODE_ENV } = process.env
  process.env['NODE_ENV'] = 'production'
  try {
    return await import('ink')
  } finally {
    if (NODE_ENV === undefined) delete process.env['NODE_ENV']
    else process.env['NODE_ENV'] = NODE_ENV
  }
}
