import { emitKeypressEvents, type Key as NodeKey } from 'node:readline'
import type { ReadStream } from 'node:tty'

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
