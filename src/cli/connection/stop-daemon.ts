import { setTimeout as sleep } from 'node:timers/promises'
import { isAlive, startTimeOf } from '../../base/process/start-time.ts'
import type { Client } from '../client.ts'

/** Asks the daemon to stop and waits until its process is gone. `false`: it was still there when the time was up. */
export async function stopDaemon(client: Client, timeoutMs: number): Promise<boolean> {
  const { pid } = client.health
  const startTime = await startTimeOf(pid)
  await client.request('POST', '/daemon/stop', {})
  if (startTime === undefined) return true
  for (const deadline = Date.now() + timeoutMs; Date.now() < deadline; await sleep(20)) {
    if (!(await isAlive({ pid, startTime }))) return true
  }
  return false
}
