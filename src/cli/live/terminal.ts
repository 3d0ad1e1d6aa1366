import { once } from 'node:events'
import { emitKeypressEvents, type Key as NodeKey } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ReadStream } from 'node:tty'
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

export interface Key {
  /** `return`, `escape`, `backspace`, or the character itself. */
  name: string
  /** What it types; empty for keys that type nothing. */
  text: string
}

/** Keys one at a time, in order, for as long as one question is open. */
export interface KeyQueue extends Disposable {
  next(signal: AbortSignal): Promise<Key | undefined>
}

export interface Keyboard extends Disposable {
  keys(): KeyQueue
}

export interface ControlKeys {
  onInterrupt(): void
  onEnd(): void
  /** Any other key, while something is asked. */
  onKey?(): void
}

/**
 * Reads single keys from a terminal. Ctrl+C and Ctrl+D go to their own handlers whatever else is going on; keys typed
 * while nothing is asked are dropped, so that nobody allows a thing they have not seen.
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

/** Shows what waits until Ctrl+C, in place on a terminal; elsewhere it is printed again when it says something else. */
export async function watchPage({ page, json, out }: WatchedPage): Promise<void> {
  const leave = new AbortController()
  const interrupted = once(process, 'SIGINT', { signal: leave.signal }).then(
    () => leave.abort(),
    () => undefined, // left another way
  )
  const screen = openScreen(process.stdout)
  let last = ''
  try {
    while (!leave.signal.aborted) {
      const lines = await page()
      const shown = lines.join('\n')
      if (shown !== last && json) out(shown)
      else if (shown !== last && process.stdout.isTTY) screen.pin(lines)
      else if (shown !== last) screen.print([...(last === '' ? [] : ['']), ...lines])
      last = shown
      await sleep(EVERY_MS, undefined, { signal: leave.signal }).catch(() => undefined) // Ctrl+C ends the wait
    }
  } finally {
    leave.abort()
    await interrupted
  }
}

export type Ink = typeof import('ink')

/** What draws full screens. React is told that this is no development: it would otherwise keep a record of every drawing. */
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
