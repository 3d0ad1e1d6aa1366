import { setTimeout as sleep } from 'node:timers/promises'
import { sessionMarker } from '../../../base/process/marker.ts'
import { bornAt } from '../../../base/process/start-time.ts'
import { sweepMarked } from '../../../base/process/sweep.ts'
import { type AgentState, readState } from '../reading/state-file.ts'
import type { SeatFolder, Whereabouts } from '../seat.ts'
import type { Tmux } from './tmux.ts'

/** An agent whose terminal is closed says goodbye and goes. */
const GOODBYE_MS = 2_000
const LOOK_MS = 50
const MOST_ALLOWED = 200

/** The window of one agent and what is known of it, kept in the seat's folder with every change. */
export class AgentWindow {
  readonly name: string
  readonly #tmux: Tmux
  readonly #seat: SeatFolder
  #at: Whereabouts
  #withstood = false

  constructor(name: string, { tmux, seat, at }: { tmux: Tmux; seat: SeatFolder; at: Whereabouts }) {
    this.name = name
    this.#tmux = tmux
    this.#seat = seat
    this.#at = at
  }

  get at(): Whereabouts {
    return this.#at
  }

  get pid(): number {
    return this.#at.pid
  }

  get alive(): boolean {
    return isThere(this.#at)
  }

  /** Something that it started could not be ended. */
  get withstood(): boolean {
    return this.#withstood
  }

  note(news: Partial<Whereabouts>): void {
    this.#at = { ...this.#at, ...news }
    this.#seat.keep(this.#at)
  }

  /** A call was allowed whose result is still to come. */
  allow(callId: string): void {
    this.note({ allowed: [...this.#at.allowed, callId].slice(-MOST_ALLOWED) })
  }

  state(): AgentState | undefined {
    return readState(this.#at.config, this.#at.pid)
  }

  paste(prompt: string): Promise<void> {
    return this.#tmux.paste(this.#at.pane, prompt)
  }

  enter(): Promise<void> {
    return this.#tmux.press(this.#at.pane, 'Enter')
  }

  escape(): Promise<void> {
    return this.#tmux.press(this.#at.pane, 'Escape')
  }

  /** Ends the window, the agent and all that it started. */
  async close(): Promise<void> {
    await this.#tmux.close(this.name)
    for (let waited = 0; this.alive && waited < GOODBYE_MS; waited += LOOK_MS) await sleep(LOOK_MS)
    const { left } = await sweepMarked(sessionMarker(this.#at.marker))
    this.#withstood = left.length > 0
    if (!this.#withstood) this.#seat.remove()
  }
}

/** Whether that very process still runs. */
export function isThere({ pid, born }: Pick<Whereabouts, 'pid' | 'born'>): boolean {
  return bornAt(pid) === born
}
