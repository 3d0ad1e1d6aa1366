import { setTimeout as sleep } from 'node:timers/promises'
import type { Places } from '../../base/places.ts'
import { isAlive, type ProcessIdentity, startTimeOf } from '../../base/process/start-time.ts'
import { livingParent } from '../../daemon/parent/parent-files.ts'
import type { Client } from '../client.ts'

export interface StopDaemon {
  timeoutMs: number
  /** Its sessions are only cut off, and go on with the next daemon. */
  goOn?: boolean
}

/** Asks the daemon to stop and waits until its process, and the parent that kept it, are gone. `false`: not in time. */
export async function stopDaemon(client: Client, places: Places, options: StopDaemon): Promise<boolean> {
  const { pid } = client.health
  const startTime = await startTimeOf(pid)
  const parent = await livingParent(places)
  await client.request('POST', '/daemon/stop', { go_on: options.goOn ?? false })
  const daemon = startTime === undefined ? undefined : { pid, startTime }
  return areGone([daemon, parent], options.timeoutMs)
}

/** Ends a parent that waits to start its daemon again. False where there is none. */
export async function stopParent(places: Places, timeoutMs: number): Promise<boolean> {
  const parent = await livingParent(places)
  if (!parent) return false
  process.kill(parent.pid, 'SIGTERM')
  return areGone([parent], timeoutMs)
}

async function areGone(processes: (ProcessIdentity | undefined)[], timeoutMs: number): Promise<boolean> {
  const there = processes.filter(one => one !== undefined)
  for (const deadline = Date.now() + timeoutMs; Date.now() < deadline; await sleep(20)) {
    const alive = await Promise.all(there.map(isAlive))
    if (!alive.includes(true)) return true
  }
  return false
}
