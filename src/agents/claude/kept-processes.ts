import { isDeepStrictEqual } from 'node:util'
import { RUN_VARIABLES } from '../../domain/run.ts'
import type { OpenSession } from '../../domain/session.ts'
import { type ClearedAhead, clearAhead, clearConversation } from './clear-conversation.ts'
import type { ClaudeProcess } from './session.ts'

interface Waiting {
  process: ClaudeProcess
  /** The options of the session that it served last. */
  open: OpenSession
  timer: NodeJS.Timeout
  ahead?: ClearedAhead
}

/**
 * Processes whose session is over and which wait for the next one, each under its marker: a session that is opened with this marker takes
 * it. Its conversation is cleared then, or when that session is about to be started and its folder is as it will find it, so that it reads the
 * project's instructions at the same moment as a fresh process.
 */
export class KeptProcesses {
  readonly #waiting = new Map<string, Waiting>()
  /** Ending processes by their markers: a new process with the same marker must wait, or the sweep would end it too. */
  readonly #ending = new Map<string, Promise<void>>()
  readonly #keepMs: number
  readonly #log: (line: string) => void
  #closed = false

  constructor(keepMs: number, log: (line: string) => void) {
    this.#keepMs = keepMs
    this.#log = log
  }

  add(process: ClaudeProcess, open: OpenSession): void {
    const { value: marker } = process.agent.marker
    const timer = setTimeout(() => void this.remove(marker), this.#keepMs).unref()
    this.#waiting.set(marker, { process, open, timer })
    if (this.#closed) void this.remove(marker)
  }

  /** Begins to clear the conversation of the process with this marker: its next session will be opened in a moment. */
  clearAhead(marker: string | undefined): void {
    const waiting = this.#waiting.get(marker ?? '')
    if (waiting) waiting.ahead ??= clearAhead(waiting.process)
  }

  /** The process with the marker of this session, with a fresh conversation. One that does not fit, or is in doubt, is ended. */
  async take(open: OpenSession): Promise<ClaudeProcess | undefined> {
    const waiting = this.#takeOut(open.marker)
    await this.#ending.get(open.marker ?? '')
    if (!waiting) return undefined
    const { process } = waiting
    const why = whyUnlike(waiting.open, open) ?? (await clearConversation(process, open, waiting.ahead))
    if (why === undefined) return process
    this.#log(`session ${open.id}: the process of the task before is not used again: ${why}`)
    await this.#end(process)
    return undefined
  }

  /** Ends the process with this marker, if there is one. */
  async remove(marker: string | undefined): Promise<void> {
    const waiting = this.#takeOut(marker)
    if (waiting) await this.#end(waiting.process)
  }

  async close(): Promise<void> {
    this.#closed = true
    for (const marker of [...this.#waiting.keys()]) void this.remove(marker)
    await Promise.all(this.#ending.values())
  }

  #takeOut(marker: string | undefined): Waiting | undefined {
    const waiting = this.#waiting.get(marker ?? '')
    this.#waiting.delete(marker ?? '')
    clearTimeout(waiting?.timer)
    return waiting
  }

  #end({ gate, connection, agent }: ClaudeProcess): Promise<void> {
    gate.close()
    // It is never woken up to end: what its task may have put into it would go on beside whoever checks the task.
    agent.kill()
    connection.endInput()
    connection.close()
    const ended = agent
      .end()
      // The guardian reports a process that will not die.
      .catch(() => undefined)
      .finally(() => this.#ending.delete(agent.marker.value))
    this.#ending.set(agent.marker.value, ended)
    return ended
  }
}

/** Why a process that was opened with some options cannot serve a session with others: all that is fixed at its start must be equal. */
export function whyUnlike(before: OpenSession, next: OpenSession): string | undefined {
  if (next.resume) return 'the next session resumes a conversation'
  if (next.prompt === undefined) return 'the next session has no prompt'
  if (next.model === undefined && before.model !== undefined) return 'the next session leaves the model to the agent'
  const [was, is] = [fixedAtStart(before), fixedAtStart(next)]
  const different = Object.keys({ ...was, ...is }).find(key => !isDeepStrictEqual(was[key], is[key]))
  if (different !== undefined) return `the next session has another ${different}`
  const [had, has] = [before.env, next.env]
  const variable = Object.keys({ ...had, ...has }).find(
    name => had[name] !== has[name] && !(isCounting(name) && name in had && name in has),
  )
  return variable === undefined ? undefined : `the next session has another ${variable} in its environment`
}

function isCounting(name: string): boolean {
  return RUN_VARIABLES.some(variable => variable === name)
}

/** The options without those that belong to one session. A missing key counts the same as `undefined`. */
function fixedAtStart(open: OpenSession): Record<string, unknown> {
  const {
    id: _id,
    prompt: _prompt,
    mayBegin: _may,
    asks: _asks,
    record: _record,
    env: _env,
    resume: _resume,
    ...rest
  } = open
  const { model: _model, followCost: _follow, allowedTools: _allowed, ...fixed } = rest
  return Object.fromEntries(Object.entries(fixed).filter(([, value]) => value !== undefined))
}
