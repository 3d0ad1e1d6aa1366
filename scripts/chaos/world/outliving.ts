import { availableParallelism, loadavg } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { isSame, type SeenProcess } from './processes.ts'

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

/** How long after a death the last of these processes was gone, as seen every 30 ms. */
export async function goneAfter(started: SeenProcess[], diedAt: number): Promise<number> {
  const end = diedAt + PATIENCE_MS
  while (started.some(isSame) && Date.now() < end) await sleep(30)
  return Date.now() - diedAt
}
