import { AppError, type ErrorCode, messageOf } from '../../base/errors.ts'
import type { Failure } from '../../domain/session.ts'
import type { TmuxTurnEnd } from './transcript.ts'

/** How long a prompt may take to be heard of before Enter is pressed once more. */
const ACCEPT_MS = 6_000
const MOST_ENTERS = 3
/** The hook that tells the end of a turn comes before the agent calls itself idle; one that is on its way gets this long. */
const HOOK_MS = 1_500
/** On a crowded machine it takes a while from a prompt until the agent says that it works: till then its idling is that of before. */
const BUSY_MS = 30_000
/** The agent writes its last words down, and tells what they cost, a moment after its hook has told that it is done. */
const LAST_WORDS_MS = 3_000

type Stop = 'pause' | 'park' | 'cap'
type Look = TmuxTurnEnd | 'begun' | 'enter' | 'lost' | undefined

/** What the agent has written down. */
export interface TranscriptState {
  lastText: string
  /** That this turn was cut short from the keyboard. */
  isCutShort: boolean
}

/** `isHeld`: a person has the keyboard, so that a prompt which is not heard is no wonder. */
type Seen = TranscriptState & { isHeld?: boolean }

/**
 * Where a turn stands. A prompt is *asked* until the agent's hook says that it has it, then the turn *runs* until a hook tells its
 * end, or, where none does (after an interrupt, or a stop between two tools), until the agent has called itself idle for a while.
 */
export class TmuxTurn {
  readonly #now: () => number
  #state: 'none' | 'asked' | 'running' = 'none'
  #askedAt = 0
  #enters = 0
  #idleSince: number | undefined
  #told: { ends: TmuxTurnEnd; at: number } | undefined
  #stopping: Stop | undefined
  #interrupting = false
  #held: TmuxTurnEnd | undefined
  #afterwards: string | undefined
  #mayHaveEnded = false
  #counted = false
  /** It was seen at work in this turn. */
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

  /** The agent has a prompt. An end that was told and not yet passed on comes back: it is that of the turn before. */
  begun(): TmuxTurnEnd | undefined {
    const told = this.#told?.ends
    if (told) this.#over(told)
    this.#held = undefined
    this.#idleSince = undefined
    this.#state = 'running'
    return told
  }

  /** A hook told the end. */
  told(ends: TmuxTurnEnd): void {
    if (this.#state === 'asked') return // that of an earlier turn
    const isPaused = ends.how === 'completed' && this.#stopping === 'pause'
    this.#told = { ends: isPaused ? { ...ends, how: 'paused' } : ends, at: this.#now() }
  }

  /** The status line was told: what the turn has cost is known, where its end was told before. */
  statusTold(): void {
    this.#counted = this.#told !== undefined
  }

  /** Once the tools in flight are done, the turn ends. */
  stopAfterTools(why: Stop): void {
    this.#stopping ??= why
  }

  interrupting(): void {
    this.#interrupting = true
  }

  /** Taken up by a new daemon: its end may have been told to nobody. `afterwards` is said in place of telling that it is over. */
  adopted(afterwards: string | undefined): void {
    this.#afterwards = afterwards
    this.#mayHaveEnded = true
  }

  takeAfterwards(): string | undefined {
    const prompt = this.#afterwards
    this.#afterwards = undefined
    return prompt
  }

  /** A person has the terminal: what ended under their hands waits. */
  hold(ends: TmuxTurnEnd): void {
    this.#held = ends
  }

  takeHeld(): TmuxTurnEnd | undefined {
    const held = this.#held
    this.#held = undefined
    return held
  }

  /** What follows from the agent's own word for what it does. An end is given out once. */
  look(status: string | undefined, { lastText, isCutShort, isHeld = false }: Seen): Look {
    const now = this.#now()
    if (this.#told) {
      const isWhole = this.#counted && this.#told.ends.text === lastText
      return isWhole || now - this.#told.at > LAST_WORDS_MS ? this.#over(this.#told.ends) : undefined
    }
    // The hook that tells of a prompt can be lost; that it works cannot.
    if (this.#state === 'asked' && status === 'busy') return 'begun'
    if (status === 'busy' && this.#state === 'running') this.#worked = true
    if (status !== 'idle') this.#idleSince = undefined
    else this.#idleSince ??= now
    const idleMs = this.#idleSince === undefined ? 0 : now - this.#idleSince
    if (this.#state === 'asked') return this.#unheard(idleMs > 0 && !isHeld, now)
    if (this.#state === 'none' || idleMs < (this.#worked || this.#mayHaveEnded ? HOOK_MS : BUSY_MS)) return undefined
    return this.#over(this.#silentEnd(lastText, isCutShort))
  }

  #unheard(isIdle: boolean, now: number): Look {
    if (!isIdle || now - this.#askedAt < ACCEPT_MS) return undefined
    this.#askedAt = now
    this.#enters += 1
    return this.#enters > MOST_ENTERS ? 'lost' : 'enter'
  }

  #silentEnd(text: string, isCutShort: boolean): TmuxTurnEnd {
    if (this.#interrupting) return { how: 'interrupted', text: '' }
    if (this.#stopping === 'cap') return { how: 'capped', text }
    if (this.#stopping) return { how: this.#stopping === 'park' ? 'parked' : 'paused', text }
    // A hook can be lost, and the end of a turn must not count as the hand of a person.
    return isCutShort && !this.#mayHaveEnded ? { how: 'by-person', text } : { how: 'completed', text }
  }

  #over(ends: TmuxTurnEnd): TmuxTurnEnd {
    this.#state = 'none'
    this.#told = undefined
    this.#stopping = undefined
    this.#interrupting = false
    this.#idleSince = undefined
    this.#mayHaveEnded = false
    this.#counted = false
    this.#worked = false
    return ends
  }
}

/** Why a turn stops between two rounds, for the person who looks at the terminal. */
export const STOP_REASONS = {
  pause: 'Paused by the supervisor.',
  park: 'A call waits for a person.',
  cap: 'As many rounds as were allowed.',
}

export const RESUME_PROMPT = 'The work was interrupted. Go on with the task where you stopped.'
export const HANDED_BACK_PROMPT =
  'The person has handed back. Look at what they did, then go on with the task and finish it.'

/** Told to an agent whose calls were refused while no daemon was there. */
export function describeAbsence(refused: number): string {
  const calls = refused === 1 ? 'A call was' : `${refused} calls were`
  return `The supervisor was away for a while. ${calls} refused for that reason alone and may be made again. Go on with the task where you stopped.`
}

/** The agent's process is gone, and nobody here ended it. */
export function windowGoneFailure(lastWords: string): Failure {
  const why = lastWords === '' ? 'it ended, or a person ended it' : lastWords
  return { kind: 'agent_crashed', message: `Claude Code left its window (${why}).` }
}

/** What was thrown before there was an agent, or under it. */
export function toFailure(error: unknown): Failure {
  const kind = error instanceof AppError ? KINDS[error.code as ErrorCode] : undefined
  return { kind: kind ?? 'other', message: messageOf(error) }
}

const KINDS: Partial<Record<ErrorCode, Failure['kind']>> = {
  agent_missing: 'agent_missing',
  agent_not_logged_in: 'auth',
  resume_missing: 'resume_unknown',
}

/** A call ran that nobody was asked about. */
export function unjudgedFailure(call: string): Failure {
  return { kind: 'other', message: `A tool call ran without being judged, so the session was ended: ${call}` }
}

/** It did not come so far that it could be told anything. */
export function notReadyError(ms: number, waitingFor: string | undefined): AppError {
  const why = waitingFor === undefined ? 'it did not say that it is ready' : `it waits for: ${waitingFor}`
  return new AppError('tmux_failed', { problem: `Claude Code did not start within ${ms / 1000} s (${why})` })
}
