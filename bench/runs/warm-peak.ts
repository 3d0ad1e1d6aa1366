import { readFileSync } from 'node:fs'
import { appPathsFor } from '../../src/base/app-paths.ts'
import { sessionMarker } from '../../src/base/process/marker.ts'
import { findMarkedPids } from '../../src/base/process/process-table.ts'
import { WarmMarkers } from '../../src/supervisor/session/warm-processes.ts'
import type { Ran } from '../program.ts'
import { until } from '../reliability/world.ts'

/** The process is measured after this wait, when its start is complete. */
const SETTLED_MS = 3_000

interface PeakWorld {
  pcc(...args: string[]): Promise<Ran>
  env: Record<string, string>
  project: string
  /** The first task must work for some seconds. */
  tasks: string[]
}

/** The peak memory of the warm process for the second task while the first one works, in megabytes. */
export async function warmPeakMb({ pcc, env, project, tasks }: PeakWorld): Promise<number> {
  for (const task of tasks) await pcc('task', 'add', task, '--project', project)
  const running = pcc('run', project, '--model', 'haiku')
  const markers = new WarmMarkers(appPathsFor({ env }).run)
  await until(async () => markers.all().length > 0, 20)
  const [marker = ''] = markers.all()
  let peak = 0
  const since = performance.now()
  await until(async () => {
    for (const pid of findMarkedPids(sessionMarker(marker))) peak = Math.max(peak, peakMb(pid))
    return performance.now() - since > SETTLED_MS
  })
  await running
  return peak
}

/** The peak resident memory of a process; undefined if it is gone. */
function peakMb(pid: number): number {
  try {
    return Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024
  } catch {
    return 0
  }
}
