import { availableParallelism, loadavg } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { isSame, processesOf, type SeenProcess } from './processes.ts'

/** Agents and their processes must be gone this long after the death of their daemon. */
export const PROMISED_MS = 2_000

/** The longest observation. */
const PATIENCE_MS = 15_000

/**
 * Extra time for an overloaded machine, because guardians wait for a core like every program: half a second for each program
 * that waits for a core, three seconds at most, by the load of the last minute.
 */
export function toleranceMs(load = loadavg()[0] ?? 0, cores = availableParallelism()): number {
  return Math.round(Math.min(3_000, Math.max(0, load / cores - 1) * 500))
}

/** How long a daemon was outlived, and how much more than promised is tolerated. */
export interface Outlived {
  ms: number
  toleranceMs: number
}

/** The processes that a dead daemon left: all of the round except daemons and their parent. */
export function survivorsIn(folder: string): SeenProcess[] {
  const all = processesOf(folder)
  const parents = new Set(all.filter(({ command }) => command.includes('pcc-parent')).map(({ pid }) => pid))
  return all.filter(({ pid, parent, command }) => !parents.has(pid) && !parents.has(parent) && !isDaemon(command))
}

function isDaemon(command: string): boolean {
  return command.includes('run-daemon.ts')
}

/** How long after a death the last of these processes was gone, polled every 30 ms. */
export async function goneAfter(started: SeenProcess[], diedAt: number): Promise<number> {
  const end = diedAt + PATIENCE_MS
  if (started.length === 0) return 0
  while (started.some(isSame) && Date.now() < end) await sleep(30)
  return Date.now() - diedAt
}
