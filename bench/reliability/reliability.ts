import type { BenchRow } from '../row.ts'
import { benchGrowth } from './growth.ts'
import { benchParked } from './parked.ts'
import { benchRestart } from './restart.ts'

/** What killing the daemon, waiting for a person and a thousand tasks cost. */
export async function benchReliability(watchedMs: number): Promise<BenchRow[]> {
  return [...(await benchRestart()), ...(await benchParked(watchedMs)), ...(await benchGrowth())]
}
