import { AppError, ERRORS, type ErrorCode, type ErrorReply, messageOf, toErrorReply } from '../base/errors.ts'
import { neutral } from '../base/neutral.ts'
import { breakLines, terminalOf } from './render/text.ts'

/** An error that the daemon answered with. */
export class RemoteError extends Error {
  readonly code: string
  readonly next: string

  /** By the name: in the bundle some files have a copy of this class. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof Error && value.name === 'RemoteError'
  }

  constructor({ error }: ErrorReply) {
    super(error.message)
    this.name = 'RemoteError'
    this.code = error.code
    this.next = error.next
  }
}

/** Turns an error reply into an error. A reply of unknown shape is quoted in an internal error. */
export function remoteError(body: unknown): Error {
  const error = (body as Partial<ErrorReply> | null)?.error
  if (typeof error?.code === 'string' && typeof error.message === 'string') return new RemoteError({ error })
  return new AppError('internal', { problem: `the daemon answered ${JSON.stringify(body).slice(0, 200)}` })
}

/** Prints an error on stderr, as text or as one JSON object, and returns the exit code. */
export function reportError(thrown: unknown, { json, verbose }: { json: boolean; verbose: boolean }): number {
  const error = describeError(thrown)
  if (json) {
    process.stderr.write(`${JSON.stringify(toErrorReply(error))}\n`)
    return error.exit
  }
  const { paint, width } = terminalOf(process.stderr, process.env)
  const text = `${paint('red', 'error:')} ${neutral(error.message)}\n  ${paint('dim', 'next:')} ${neutral(error.next)}`
  process.stderr.write(`${breakLines(text, width)}\n`)
  if (verbose && thrown instanceof Error) process.stderr.write(`${neutral(String(thrown.stack))}\n`)
  return error.exit
}

/** Warns that the running daemon has another version. The command continues. */
export function warnOfVersion(running: string, own: string): void {
  const { paint } = terminalOf(process.stderr, process.env)
  process.stderr.write(
    `${paint('yellow', 'warning:')} the running daemon is version ${running}, this is pcc ${own}\n  ${paint('dim', 'next:')} pcc daemon restart (running sessions go on)\n`,
  )
}

function describeError(thrown: unknown): { code: string; message: string; next: string; exit: number } {
  if (thrown instanceof AppError) return thrown
  if (thrown instanceof RemoteError) {
    const exit = Object.hasOwn(ERRORS, thrown.code) ? ERRORS[thrown.code as ErrorCode].exit : 1
    return { code: thrown.code, message: thrown.message, next: thrown.next, exit }
  }
  return new AppError('internal', { problem: messageOf(thrown) })
}
