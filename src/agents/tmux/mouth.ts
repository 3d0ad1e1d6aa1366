import { setTimeout as sleep } from 'node:timers/promises'
import type { AgentWindow } from './window/agent-window.ts'

/** It takes the paste before the Enter; on a crowded machine that needs a moment. */
const SETTLE_MS = 250
/** What it calls itself while a line typed into it is a prompt. In a dialog it `waits`, and Enter would be the first answer: yes. */
const LISTENS = new Set(['idle', 'busy'])

type Keyboard = Pick<AgentWindow, 'state' | 'paste' | 'enter'>

/**
 * The one place from which pcc types. A person who has the terminal, or a call that is put to one, has the keyboard: what is to be
 * said waits until then, because Enter in a dialog would decide in their place.
 */
export class Mouth {
  readonly #isTheirs: () => boolean
  #unsaid: string[] = []
  #typing = false

  /** `isTheirs`: whether a person has the keyboard. */
  constructor(isTheirs: () => boolean) {
    this.#isTheirs = isTheirs
  }

  /** Something waits to be said. */
  get isFull(): boolean {
    return this.#unsaid.length > 0
  }

  mayType(window: Keyboard): boolean {
    return !this.#isTheirs() && LISTENS.has(window.state()?.status ?? '')
  }

  add(text: string): void {
    this.#unsaid.push(text)
  }

  /** Types the first of what waits, if it may; `begins` is told just before. */
  async speak(window: Keyboard, begins: () => void): Promise<void> {
    if (this.#typing || !this.isFull || !this.mayType(window)) return
    this.#typing = true
    try {
      begins()
      await window.paste(this.#unsaid.shift() ?? '')
      await sleep(SETTLE_MS)
      await this.enter(window)
    } finally {
      this.#typing = false
    }
  }

  /** A line that stands there already is sent off, if it may. */
  async enter(window: Keyboard): Promise<void> {
    if (this.mayType(window)) await window.enter()
  }
}
