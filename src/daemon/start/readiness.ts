import { closeSync, fstatSync, openSync, writeSync } from 'node:fs'
import type { AppError } from '../../base/errors.ts'
import { errorReply } from '../http/error-reply.ts'

export type Readiness = { ready: true } | { error: AppError }

export type Announce = (readiness: Readiness, words: string) => void

/**
 * Tells whoever started us how it went: one JSON line when standard output is a pipe, which is then closed, so that the
 * starter sees the end of it; plain words when a person looks. That is told once. What goes wrong later is told in words to
 * standard error, which stays ours: the number of a descriptor that was closed may be a client's connection by then.
 */
export function openAnnouncer(): Announce {
  let isTold = false
  return (readiness, words) => {
    const isFailed = 'error' in readiness
    if (isTold || !isPipe(1)) {
      writeQuietly(isFailed || isTold ? 2 : 1, `${words}\n`)
    } else {
      const line = isFailed ? errorReply(readiness.error) : { ready: true, pid: process.pid }
      writeQuietly(1, `${JSON.stringify(line)}\n`)
      replaceStandardOutput()
    }
    isTold = true
  }
}

/** Node's own pipes to a child are sockets. */
function isPipe(fd: number): boolean {
  try {
    const found = fstatSync(fd)
    return found.isFIFO() || found.isSocket()
  } catch {
    return false // closed by whoever started us
  }
}

/** The starter may have left already; the daemon goes on without it. */
function writeQuietly(fd: number, text: string): void {
  try {
    writeSync(fd, text)
  } catch {
    // Nobody listens.
  }
}

/**
 * The lowest free descriptor is the next one given out: standard output becomes the null device, as a rule. Files are opened in
 * other threads too, and one of those may be quicker: then the number is anybody's, which is why nothing is written there again.
 */
function replaceStandardOutput(): void {
  closeSync(1)
  openSync('/dev/null', 'w')
}
