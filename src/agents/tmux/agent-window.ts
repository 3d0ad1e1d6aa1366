import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import * as z from 'zod'
import { readRegularFileNow } from '../../base/files.ts'
import { sessionMarker } from '../../base/process/marker.ts'
import { rawStartTime } from '../../base/process/process-table.ts'
import { sweepMarked } from '../../base/process/sweep.ts'
import type { Sandbox } from '../../base/sandbox/sandbox.ts'
import type { TmuxSessionFolder, TmuxSessionState } from './session-folder.ts'
import type { Tmux } from './tmux.ts'

/** An agent whose terminal is closed exits within this time. */
const GOODBYE_MS = 2_000
const EXIT_POLL_MS = 50
const MOST_ALLOWED = 200

interface AgentWindowDeps {
  tmux: Tmux
  folder: TmuxSessionFolder
  saved: TmuxSessionState
  /** The sandbox around the agent. */
  sandbox?: WindowSandbox | undefined
}

/** All that is left to do for the sandbox of a window that an earlier daemon left. */
type WindowSandbox = Pick<Sandbox, 'breached' | 'isWall'> & AsyncDisposable

/** The window of one agent and its state, which is saved in the session's folder with every change. */
export class AgentWindow {
  readonly name: string
  readonly #tmux: Tmux
  readonly #folder: TmuxSessionFolder
  readonly #sandbox: WindowSandbox | undefined
  #saved: TmuxSessionState
  #hasSurvivors = false

  constructor(name: string, { tmux, folder, saved, sandbox }: AgentWindowDeps) {
    this.name = name
    this.#tmux = tmux
    this.#folder = folder
    this.#saved = saved
    this.#sandbox = sandbox
    const end = () => void tmux.close(name)
    if (sandbox?.breached.aborted) end()
    else sandbox?.breached.addEventListener('abort', end, { once: true })
  }

  get saved(): TmuxSessionState {
    return this.#saved
  }

  get pid(): number {
    return this.#saved.pid
  }

  get alive(): boolean {
    return isSameProcess(this.#saved)
  }

  /** Whether the window was started in a sandbox, and the agent has found no way out of it. */
  get walled(): boolean {
    return this.#sandbox?.isWall === true && !this.#sandbox.breached.aborted
  }

  /** A process that the agent started could not be ended. */
  get hasSurvivors(): boolean {
    return this.#hasSurvivors
  }

  update(changes: Partial<TmuxSessionState>): void {
    this.#saved = { ...this.#saved, ...changes }
    this.#folder.saveState(this.#saved)
  }

  /** Remembers an allowed call until its result comes. */
  allow(callId: string): void {
    this.update({ allowed: [...this.#saved.allowed, callId].slice(-MOST_ALLOWED) })
  }

  state(): AgentState | undefined {
    return readState(this.#saved)
  }

  paste(prompt: string): Promise<void> {
    return this.#tmux.paste(this.#saved.pane, prompt)
  }

  enter(): Promise<void> {
    return this.#tmux.press(this.#saved.pane, 'Enter')
  }

  escape(): Promise<void> {
    return this.#tmux.press(this.#saved.pane, 'Escape')
  }

  /** Ends the window, the agent and everything that it started. */
  async close(): Promise<void> {
    await this.#tmux.close(this.name)
    for (let waited = 0; this.alive && waited < GOODBYE_MS; waited += EXIT_POLL_MS) await sleep(EXIT_POLL_MS)
    const { left } = await sweepMarked(sessionMarker(this.#saved.marker))
    this.#hasSurvivors = left.length > 0
    await this.#sandbox?.[Symbol.asyncDispose]()
    if (!this.#hasSurvivors) this.#folder.remove()
  }
}

/** Whether the same process still runs. */
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

/** Some hundred times what is in it. */
const MOST_STATE_BYTES = 64_000

/**
 * The state that Claude Code reports in a file of its process: `idle`, `busy` or `waiting`. In a sandbox the process has another
 * number, and the only file.
 */
function readState({ config, pid, sandboxed }: TmuxSessionState): AgentState | undefined {
  try {
    const sessions = join(config, 'sessions')
    const name = sandboxed ? readdirSync(sessions).find(each => each.endsWith('.json')) : `${pid}.json`
    // The agent's code can put a pipe there.
    const text = readRegularFileNow(join(sessions, name ?? ''), MOST_STATE_BYTES)
    return text && State.safeParse(JSON.parse(text.toString('utf8'))).data
  } catch {
    return undefined // not written yet, or just being written
  }
}

const DIALOG_POLL_MS = 400

interface DialogCheck {
  /** A call was left to the person at the terminal. */
  asksPerson(): boolean
  /** How long a dialog may be open until our hook has answered it. */
  dialogMs: number
}

/** Before a call the agent shows its own dialog for a moment, until our hook has answered: only a dialog that stays asks a person. */
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

/** The agent must take the paste before the Enter; on a busy machine that takes a moment. */
const SETTLE_MS = 250
/** The states in which a typed line is a prompt. In a dialog the state is `waiting`, and Enter would choose the first answer: yes. */
const LISTENING_STATES = new Set(['idle', 'busy'])

type Keyboard = Pick<AgentWindow, 'state' | 'paste' | 'enter'>

/**
 * The only place from which pcc types. While a person has the terminal, or a call is left to a person, the keyboard is theirs: prompts
 * wait until then, because Enter in a dialog would decide in the person's place.
 */
export class PromptTyper {
  readonly #isPersonInControl: () => boolean
  #waiting: string[] = []
  #typing = false

  constructor(isPersonInControl: () => boolean) {
    this.#isPersonInControl = isPersonInControl
  }

  /** A prompt waits to be typed. */
  get hasWaiting(): boolean {
    return this.#waiting.length > 0
  }

  canType(window: Keyboard): boolean {
    return !this.#isPersonInControl() && LISTENING_STATES.has(window.state()?.status ?? '')
  }

  add(text: string): void {
    this.#waiting.push(text)
  }

  /** Types the first waiting prompt, if allowed; calls `onBegin` just before. */
  async typeNext(window: Keyboard, onBegin: () => void): Promise<void> {
    if (this.#typing || !this.hasWaiting || !this.canType(window)) return
    this.#typing = true
    try {
      onBegin()
      await window.paste(this.#waiting.shift() ?? '')
      await sleep(SETTLE_MS)
      await this.enter(window)
    } finally {
      this.#typing = false
    }
  }

  /** Sends a line that is typed already, if allowed. */
  async enter(window: Keyboard): Promise<void> {
    if (this.canType(window)) await window.enter()
  }
}
