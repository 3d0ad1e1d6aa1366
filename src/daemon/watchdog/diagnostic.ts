import { readFileSync, writeFileSync } from 'node:fs'
import { Session } from 'node:inspector'
import { join } from 'node:path'
import { messageOf } from '../../base/errors.ts'

/** How long to wait for the main thread's stack, which takes seconds on a busy machine. A thread inside a system call never answers. */
const STACK_MS = 10_000
const LOG_LINES = 20

export interface Stall {
  logs: string
  log: string
  stalledMs: number
  live: number
}

/** Writes a file that says where the main thread hangs. Runs in another thread of the same process. */
export async function writeDiagnostic({ logs, log, stalledMs, live }: Stall): Promise<void> {
  const at = new Date()
  const { rss, heapUsed } = process.memoryUsage()
  const diagnostic = {
    at: at.toISOString(),
    what: `the event loop stood still for ${Math.round(stalledMs / 1000)} s; the process was ended by its watchdog`,
    pid: process.pid,
    up_s: Math.round(process.uptime()),
    sessions: live,
    memory: { rss_mb: megabytes(rss), watchdog_heap_mb: megabytes(heapUsed) },
    stack: await readMainStack(),
    log: lastLines(log),
  }
  writeFileSync(
    join(logs, `stall-${at.toISOString().replaceAll(/[:.]/g, '-')}.json`),
    JSON.stringify(diagnostic, null, 2),
    {
      mode: 0o600,
    },
  )
}

/** The debugger can pause even an endless loop, and then shows where that loop is. */
async function readMainStack(): Promise<string[]> {
  const session = new Session()
  const { promise, resolve } = Promise.withResolvers<string[]>()
  const timer = setTimeout(() => resolve(['unknown: it stands inside of a system call']), STACK_MS)
  try {
    session.connectToMainThread()
    session.on('Debugger.paused', ({ params }) => {
      resolve(
        params.callFrames.map(
          ({ functionName, url, location }) => `${functionName || '(anonymous)'} ${url}:${location.lineNumber + 1}`,
        ),
      )
    })
    session.post('Debugger.enable')
    session.post('Debugger.pause')
    return await promise
  } catch (error) {
    return [`unknown: ${messageOf(error)}`]
  } finally {
    clearTimeout(timer)
  }
}

function lastLines(file: string): string[] {
  try {
    return readFileSync(file, 'utf8').trimEnd().split('\n').slice(-LOG_LINES)
  } catch {
    return [] // nothing was logged yet
  }
}

function megabytes(bytes: number): number {
  return Math.round(bytes / 1024 / 1024)
}
