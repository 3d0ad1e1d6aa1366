import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import * as z from 'zod'
import { sessionMarker } from '../../base/process/marker.ts'
import { rawStartTime } from '../../base/process/process-table.ts'
import { sweepMarked } from '../../base/process/sweep.ts'
import type { TmuxSessionFolder, TmuxSessionState } from './session-folder.ts'
import type { Tmux } from './tmux.ts'

/** An agent whose terminal is closed says goodbye and goes. */
const GOODBYE_MS = 2_000
const LOOK_MS = 50
const MOST_ALLOWED = 200

/** The window of one agent and what is known of it, kept in the seat's folder with every change. */
export class AgentWindow {
  readonly name: string
  readonly #tmux: Tmux
  readonly #seat: TmuxSessionFolder
  #at: TmuxSessionState
  #withstood = false

  constructor(name: string, { tmux, seat, at }: { tmux: Tmux; seat: TmuxSessionFolder; at: TmuxSessionState }) {
    this.name = name
    this.#tmux = tmux
    this.#seat = seat
    this.#at = at
  }

  get at(): TmuxSessionState {
    return this.#at
  }

  get pid(): number {
    return this.#at.pid
  }

  get alive(): boolean {
    return isSameProcess(this.#at)
  }

  /** Something that it started could not be ended. */
  get withstood(): boolean {
    return this.#withstood
  }

  note(news: Partial<TmuxSessionState>): void {
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
export function isSameProcess({ pid, born }: Pick<TmuxSessionState, 'pid' | 'born'>): boolean {
  return rawStartTime(pid) === born
}

const State = z.object({
  sessionId: z.string(),
  status: z.string(),
  waitingFor: z.string().optional(),
  version: z.string().optional(),
  statusUpdatedAt: z.number().optional(),
})
export type AgentState = z.infer<typeof State>

/** What Claude Code itself says it does: `idle`, `busy` or `waiting`, in a file that it keeps for its process. */
function readState(config: string, pid: number): AgentState | undefined {
  try {
    return State.safeParse(JSON.parse(readFileSync(join(config, 'sessions', `${pid}.json`), 'utf8'))).data
  } catch {
    return undefined // it has not come so far, or is just writing it
  }
}

const DIALOG_POLL_MS = 400

interface DialogCheck {
  /** A call was put to the person at the terminal. */
  asksPerson(): boolean
  /** How long a dialog may stand until our hook has answered it. */
  dialogMs: number
}

/** Before a call the agent shows its own dialog for a moment, until our hook has answered it: only one that stays asks a person. */
export async function hasOpenQuestion(
  window: Pick<AgentWindow, 'state'>,
  { asksPerson, dialogMs }: DialogCheck,
): Promise<boolean> {
  const until = performance.now() + dialogMs
  while (!asksPerson() && window.state()?.status === 'waiting') {
    if (performance.now() > until) return true
    await sleep(DIALOG_POLL_MS)
  }
  return asksPerson()
}

/** It takes the paste before the Enter; on a crowded machine that needs a moment. */
const SETTLE_MS = 250
/** What it calls itself while a line typed into it is a prompt. In a dialog it `waits`, and Enter would be the first answer: yes. */
const LISTENING_STATES = new Set(['idle', 'busy'])

type Keyboard = Pick<AgentWindow, 'state' | 'paste' | 'enter'>

/**
 * The one place from which pcc types. A person who has the terminal, or a call that is put to one, has the keyboard: what is to be
 * said waits until then, because Enter in a dialog would decide in their place.
 */
export class PromptTyper {
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
    return !this.#isTheirs() && LISTENING_STATES.has(window.state()?.status ?? '')
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
