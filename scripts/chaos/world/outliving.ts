import { availableParallelism, loadavg } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { isSame, processesOf, type SeenProcess } from './processes.ts'

/** Agents and all that they started are gone so long after the death of their daemon. */
export const PROMISED_MS = 2_000

/** Beyond this nobody looks any longer. */
const PATIENCE_MS = 15_000

/**
 * What a machine with more to do than it can is given besides: guardians wait for their turn like everybody. Half a second
 * for each program that stands in line for a core, three seconds at most, by the load of the last minute.
 */
export function toleranceMs(load = loadavg()[0] ?? 0, cores = availableParallelism()): number {
  return Math.round(Math.min(3_000, Math.max(0, load / cores - 1) * 500))
}

/** By how much a daemon was outlived, and how much more than promised is let pass. */
export interface Outlived {
  ms: number
  toleranceMs: number
}

/** What a daemon that just died has left: everything of the round but daemons, and the parent that may start the next one. */
export function survivorsIn(folder: string): SeenProcess[] {
  const all = processesOf(folder)
  const parents = new Set(all.filter(({ command }) => command.includes('pcc-parent')).map(({ pid }) => pid))
  return all.filter(({ pid, parent, command }) => !parents.has(pid) && !parents.has(parent) && !isDaemon(command))
}

function isDaemon(command: string): boolean {
  return command.includes('run-daemon.ts')
}

/** How long after a death the last of these processes was gone, as seen every 30 ms. */
export async function goneAfter(started: SeenProcess[], diedAt: number): Promise<number> {
  const end = diedAt + PATIENCE_MS
  if (started.length === 0) return 0
  while (started.some(isSame) && Date.now() < end) await sleep(30)
  return Date.now() - diedAt
}
