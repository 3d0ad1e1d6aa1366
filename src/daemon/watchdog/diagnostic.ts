import { readFileSync, writeFileSync } from 'node:fs'
import { Session } from 'node:inspector'
import { join } from 'node:path'
import { messageOf } from '../../base/errors.ts'

/** How long the main thread may take to say where it stands. One that is inside of a system call never does. */
const STACK_MS = 3_000
const LOG_LINES = 20

export interface Stall {
  logs: string
  log: string
  stalledMs: number
  live: number
}

/** Writes down where the main thread stands, from another thread of the same process. */
export async function writeDiagnostic({ logs, log, stalledMs, live }: Stall): Promise<void> {
  const at = new Date()
  const { rss, heapUsed } = process.memoryUsage()
  const page = {
    at: at.toISOString(),
    what: `the event loop stood still for ${Math.round(stalledMs / 1000)} s; the process was ended by its watchdog`,
    pid: process.pid,
    up_s: Math.round(process.uptime()),
    sessions: live,
    memory: { rss_mb: megabytes(rss), watchdog_heap_mb: megabytes(heapUsed) },
    stack: await stackOfMainThread(),
    log: lastLines(log),
  }
  writeFileSync(join(logs, `stall-${at.toISOString().replaceAll(/[:.]/g, '-')}.json`), JSON.stringify(page, null, 2), {
    mode: 0o600,
  })
}

/** The debugger stops even an endless loop; what it sees is where that loop is. */
async function stackOfMainThread(): Promise<string[]> {
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
