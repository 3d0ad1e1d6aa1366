import { AppError, type ErrorCode, messageOf } from '../../base/errors.ts'
import type { Failure } from '../../domain/session.ts'

/** Why a turn stops between two rounds, for the person who looks at the terminal. */
export const STOPPED = {
  pause: 'Paused by the supervisor.',
  park: 'A call waits for a person.',
  cap: 'As many rounds as were allowed.',
}

export const GO_ON = 'The work was interrupted. Go on with the task where you stopped.'
export const HANDED_BACK = 'The person has handed back. Look at what they did, then go on with the task and finish it.'

/** Told to an agent whose calls were refused while no daemon was there. */
export function awayFor(refused: number): string {
  const calls = refused === 1 ? 'A call was' : `${refused} calls were`
  return `The supervisor was away for a while. ${calls} refused for that reason alone and may be made again. Go on with the task where you stopped.`
}

/** The agent's process is gone, and nobody here ended it. */
export function leftItsWindow(lastWords: string): Failure {
  const why = lastWords === '' ? 'it ended, or a person ended it' : lastWords
  return { kind: 'agent_crashed', message: `Claude Code left its window (${why}).` }
}

/** What was thrown before there was an agent, or under it. */
export function failureOf(error: unknown): Failure {
  const kind = error instanceof AppError ? KINDS[error.code as ErrorCode] : undefined
  return { kind: kind ?? 'other', message: messageOf(error) }
}

const KINDS: Partial<Record<ErrorCode, Failure['kind']>> = {
  agent_missing: 'agent_missing',
  agent_not_logged_in: 'auth',
  resume_missing: 'resume_unknown',
}

/** A call ran that nobody was asked about. */
export function unjudged(call: string): Failure {
  return { kind: 'other', message: `A tool call ran without being judged, so the session was ended: ${call}` }
}

/** It did not come so far that it could be told anything. */
export function notReady(ms: number, waitingFor: string | undefined): AppError {
  const why = waitingFor === undefined ? 'it did not say that it is ready' : `it waits for: ${waitingFor}`
  return new AppError('tmux_failed', { problem: `Claude Code did not start within ${ms / 1000} s (${why})` })
}
