import { AppError, type ErrorCode, messageOf } from '../../base/errors.ts'
import type { Failure } from '../../domain/session.ts'
import type { TmuxTurnEnd } from './transcript.ts'

/** How long the agent may take to report a prompt before Enter is pressed once more. */
const ACCEPT_MS = 6_000
const MOST_ENTERS = 3
/** The hook that reports the end of a turn comes before the agent becomes idle; a hook that is on its way gets this long. */
const HOOK_MS = 1_500
/** On a busy machine it takes a while from a prompt until the agent becomes busy: until then it is still idle from before. */
const BUSY_MS = 30_000
/** The agent records its last message, and reports its cost, a moment after its hook has reported the end. */
const LAST_MESSAGE_MS = 3_000

type Stop = 'pause' | 'park' | 'cap'
type TurnStep = TmuxTurnEnd | 'begun' | 'enter' | 'lost' | undefined

/** What the agent's record shows. */
export interface TranscriptState {
  lastText: string
  /** This turn was cut short from the keyboard. */
  isCutShort: boolean
}

/** `isHeld`: a person has the keyboard, so a prompt that does not arrive is no surprise. */
type Observation = TranscriptState & { isHeld?: boolean }

/**
 * The state of a turn. A prompt is *asked* until the agent's hook reports it, then the turn is *running* until a hook reports its
 * end or, if none does (after an interrupt, or a stop between two tools), until the agent has been idle for a while.
 */
export class TmuxTurn {
  readonly #now: () => number
  #state: 'none' | 'asked' | 'running' = 'none'
  #askedAt = 0
  #enters = 0
  #idleSince: number | undefined
  #reported: { end: TmuxTurnEnd; at: number } | undefined
  #stopping: Stop | undefined
  #interrupting = false
  #held: TmuxTurnEnd | undefined
  #afterwards: string | undefined
  #mayHaveEnded = false
  #isCostKnown = false
  /** The agent was seen busy in this turn. */
  #worked = false

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  get running(): boolean {
    return this.#state !== 'none'
  }

  get stopping(): Stop | undefined {
    return this.#stopping
  }

  asked(): void {
    this.#enters = 0
    this.#askedAt = this.#now()
    this.#held = undefined
    if (this.#state === 'none') this.#state = 'asked'
  }

  /** The agent has a prompt. Returns the end of the turn before, if it was reported and not yet passed on. */
  begun(): TmuxTurnEnd | undefined {
    const before = this.#reported?.end
    if (before) this.#over(before)
    this.#held = undefined
    this.#idleSince = undefined
    this.#state = 'running'
    return before
  }

  /** A hook reported the end. */
  reportEnd(end: TmuxTurnEnd): void {
    if (this.#state === 'asked') return // the end of an earlier turn
    const isPaused = end.how === 'completed' && this.#stopping === 'pause'
    this.#reported = { end: isPaused ? { ...end, how: 'paused' } : end, at: this.#now() }
  }

  /** The status line was updated: after the end of the turn it holds the cost of the turn. */
  statusUpdated(): void {
    this.#isCostKnown = this.#reported !== undefined
  }

  /** Ends the turn once the tools in flight are done. */
  stopAfterTools(why: Stop): void {
    this.#stopping ??= why
  }

  interrupting(): void {
    this.#interrupting = true
  }

  /** The turn was adopted by a new daemon: its end may have been missed. `afterwards` is a prompt to send instead of reporting its end. */
  adopted(afterwards: string | undefined): void {
    this.#afterwards = afterwards
    this.#mayHaveEnded = true
  }

  takeAfterwards(): string | undefined {
    const prompt = this.#afterwards
    this.#afterwards = undefined
    return prompt
  }

  /** A person has the terminal: the end of a turn is kept until they hand it back. */
  hold(end: TmuxTurnEnd): void {
    this.#held = end
  }

  takeHeld(): TmuxTurnEnd | undefined {
    const held = this.#held
    this.#held = undefined
    return held
  }

  /** The next step by the agent's own state. An end is returned once. */
  poll(status: string | undefined, { lastText, isCutShort, isHeld = false }: Observation): TurnStep {
    const now = this.#now()
    if (this.#reported) {
      const { end, at } = this.#reported
      const isComplete = this.#isCostKnown && end.text === lastText
      return isComplete || now - at > LAST_MESSAGE_MS ? this.#over(end) : undefined
    }
    // The hook that reports a prompt can be lost; the busy state cannot.
    if (this.#state === 'asked' && status === 'busy') return 'begun'
    if (status === 'busy' && this.#state === 'running') this.#worked = true
    if (status !== 'idle') this.#idleSince = undefined
    else this.#idleSince ??= now
    const idleMs = this.#idleSince === undefined ? 0 : now - this.#idleSince
    if (this.#state === 'asked') return this.#retryEnter(idleMs > 0 && !isHeld, now)
    if (this.#state === 'none' || idleMs < (this.#worked || this.#mayHaveEnded ? HOOK_MS : BUSY_MS)) return undefined
    return this.#over(this.#silentEnd(lastText, isCutShort))
  }

  #retryEnter(isIdle: boolean, now: number): TurnStep {
    if (!isIdle || now - this.#askedAt < ACCEPT_MS) return undefined
    this.#askedAt = now
    this.#enters += 1
    return this.#enters > MOST_ENTERS ? 'lost' : 'enter'
  }

  #silentEnd(text: string, isCutShort: boolean): TmuxTurnEnd {
    if (this.#interrupting) return { how: 'interrupted', text: '' }
    if (this.#stopping === 'cap') return { how: 'capped', text }
    if (this.#stopping) return { how: this.#stopping === 'park' ? 'parked' : 'paused', text }
    // A hook can be lost, and such an end of a turn must not count as an action of a person.
    return isCutShort && !this.#mayHaveEnded ? { how: 'by-person', text } : { how: 'completed', text }
  }

  #over(end: TmuxTurnEnd): TmuxTurnEnd {
    this.#state = 'none'
    this.#reported = undefined
    this.#stopping = undefined
    this.#interrupting = false
    this.#idleSince = undefined
    this.#mayHaveEnded = false
    this.#isCostKnown = false
    this.#worked = false
    return end
  }
}

/** Why a turn stops between two rounds, for the person at the terminal. */
export const STOP_REASONS = {
  pause: 'Paused by the supervisor.',
  park: 'A call waits for a person.',
  cap: 'As many rounds as were allowed.',
}

export const RESUME_PROMPT = 'The work was interrupted. Go on with the task where you stopped.'
export const HANDED_BACK_PROMPT =
  'The person has handed back. Look at what they did, then go on with the task and finish it.'

/** The prompt for an agent whose calls were refused while no daemon was there. */
export function describeAbsence(refused: number): string {
  const calls = refused === 1 ? 'A call was' : `${refused} calls were`
  return `The supervisor was away for a while. ${calls} refused for that reason alone and may be made again. Go on with the task where you stopped.`
}

/** The agent's process is gone, and nobody here ended it. */
export function windowGoneFailure(stderr: string): Failure {
  const why = stderr === '' ? 'it ended, or a person ended it' : stderr
  return { kind: 'agent_crashed', message: `Claude Code left its window (${why}).` }
}

/** Translates an error of the start or of the running session. */
export function toFailure(error: unknown): Failure {
  const kind = error instanceof AppError ? KINDS[error.code as ErrorCode] : undefined
  return { kind: kind ?? 'other', message: messageOf(error) }
}

const KINDS: Partial<Record<ErrorCode, Failure['kind']>> = {
  agent_missing: 'agent_missing',
  agent_not_logged_in: 'auth',
  resume_missing: 'resume_unknown',
}

/** A call ran without being judged. */
export function unjudgedFailure(call: string): Failure {
  return { kind: 'other', message: `A tool call ran without being judged, so the session was ended: ${call}` }
}

/** The agent did not become ready for its first prompt. */
export function notReadyError(ms: number, waitingFor: string | undefined): AppError {
  const why = waitingFor === undefined ? 'it did not say that it is ready' : `it waits for: ${waitingFor}`
  return new AppError('tmux_failed', { problem: `Claude Code did not start within ${ms / 1000} s (${why})` })
}
