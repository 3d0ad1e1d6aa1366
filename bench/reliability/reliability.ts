import type { BenchRow } from '../row.ts'
import { benchGrowth } from './growth.ts'
import { benchParked } from './parked.ts'
import { benchRestart } from './restart.ts'

/** The cost of killing the daemon, of waiting for a person, and of a thousand tasks. */
export async function benchReliability(watchedMs: number): Promise<BenchRow[]> {
  return [...(await benchRestart()), ...(await benchParked(watchedMs)), ...(await benchGrowth())]
}
