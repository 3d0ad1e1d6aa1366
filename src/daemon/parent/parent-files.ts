import { readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Places } from '../../base/places.ts'
import { isAlive, type ProcessIdentity, startTimeOf } from '../../base/process/start-time.ts'

/** Why the parent stopped trying. */
export interface Verdict {
  at: number
  deaths: number
  code: number
  why: 'died' | 'refused'
}

/** One death of a daemon, as its parent wrote it down. */
export interface Death {
  at: number
  pid: number
  code: number
  ranMs: number
}

/** Deaths are few; this many bytes hold a thousand of them. */
const HISTORY_BYTES = 30_000

export function parentFiles({ run, logs }: Pick<Places, 'run' | 'logs'>) {
  return {
    history: join(logs, 'deaths.log'),
    verdict: join(run, 'gave-up.json'),
    parent: join(run, 'parent.json'),
    /** Standard error of the daemon: what Node itself says before it dies. */
    lastWords: join(logs, 'stderr.log'),
  }
}

/** What the parent said when it gave up, until a daemon has ended cleanly since. */
export function readVerdict(places: Places): Verdict | undefined {
  const found = parsed(parentFiles(places).verdict) as Verdict | undefined
  return found && { ...found, at: found.at * 1000 }
}

/** The last deaths, oldest first. */
export function readDeaths(places: Places, most = 20): Death[] {
  const lines = textOf(parentFiles(places).history)
    .split('\n')
    .slice(-most - 1)
  return lines.flatMap(line => {
    const [at, pid, code, ran] = line.split(' ').map(Number)
    if (!at || !pid || code === undefined || ran === undefined) return []
    return [{ at: at * 1000, pid, code, ranMs: ran * 1000 }]
  })
}

/**
 * Written by the daemon that holds the lock, so that `pcc daemon stop` finds a parent that only waits. Another parent that
 * waits has nobody to start any more: it would bring back what a person has stopped.
 */
export async function noteParent(places: Places, pid: number | undefined): Promise<void> {
  const { parent, history, lastWords } = parentFiles(places)
  for (const file of [history, lastWords]) shorten(file)
  const other = await livingParent(places)
  if (other && other.pid !== pid) end(other.pid)
  const startTime = pid === undefined ? undefined : await startTimeOf(pid)
  if (startTime === undefined) rmSync(parent, { force: true })
  else writeFileSync(parent, JSON.stringify({ pid, startTime }), { mode: 0o600 })
}

/** The parent that was last noted, if that very process is still there. */
export async function livingParent(places: Places): Promise<ProcessIdentity | undefined> {
  const found = parsed(parentFiles(places).parent) as ProcessIdentity | undefined
  return found && (await isAlive(found)) ? found : undefined
}

/** A clean end is the end of the story. */
export function forgetVerdict(places: Places): void {
  rmSync(parentFiles(places).verdict, { force: true })
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGTERM')
  } catch {
    // gone in this instant
  }
}

function shorten(file: string): void {
  const size = Buffer.byteLength(textOf(file))
  if (size > HISTORY_BYTES) truncateSync(file, 0)
}

function parsed(file: string): unknown {
  try {
    return JSON.parse(textOf(file))
  } catch {
    return undefined // not there, or half written by a machine that went down
  }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
