import { closeSync, fstatSync, openSync, writeSync } from 'node:fs'
import type { AppError } from '../../base/errors.ts'
import { errorReply } from '../http/error-reply.ts'

export type Readiness = { ready: true } | { error: AppError }

/**
 * Tells whoever started us how it went: one JSON line when standard output is a pipe, which is then closed, so that the
 * starter sees the end of it; plain words when a person looks.
 */
export function announce(readiness: Readiness, words: string): void {
  if (!isPipe(1)) {
    writeQuietly('error' in readiness ? 2 : 1, `${words}\n`)
    return
  }
  const line = 'error' in readiness ? errorReply(readiness.error) : { ready: true, pid: process.pid }
  writeQuietly(1, `${JSON.stringify(line)}\n`)
  replaceStandardOutput()
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

/** The lowest free descriptor is the next one given out: standard output becomes the null device, never a file of ours. */
function replaceStandardOutput(): void {
  closeSync(1)
  openSync('/dev/null', 'w')
}
