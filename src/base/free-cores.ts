import { type CpuInfo, cpus } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'

/** Long enough to see what is at work now, and short beside a task. */
const SAMPLE_MS = 300

/** How many processor cores have had nothing to do for a moment: 1.5 are one and a half. */
export async function countFreeCores(signal?: AbortSignal, read: () => CpuInfo[] = cpus): Promise<number> {
  const before = totals(read())
  await sleep(SAMPLE_MS, undefined, signal ? { signal } : {})
  const after = totals(read())
  const spent = after.all - before.all
  return spent > 0 ? ((after.idle - before.idle) / spent) * after.cores : 0
}

/** Milliseconds of all cores together since the machine was started. */
function totals(all: CpuInfo[]): { cores: number; idle: number; all: number } {
  const times = all.map(({ times: { idle, user, nice, sys, irq } }) => ({ idle, all: idle + user + nice + sys + irq }))
  return {
    cores: all.length,
    idle: times.reduce((sum, { idle }) => sum + idle, 0),
    all: times.reduce((sum, { all }) => sum + all, 0),
  }
}
