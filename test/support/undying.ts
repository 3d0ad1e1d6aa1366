import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { TestContext } from 'node:test'
import { sessionMarker } from '../../src/base/process/marker.ts'
import { startTimeOf } from '../../src/base/process/process-table.ts'

export interface Undying {
  pid: number
  startTime: string
  /** How often it was sent a signal to die. */
  kills(): number
  /** Makes it die like any other process from now on. */
  yield(): void
  gone: Promise<unknown>
}

/**
 * A process that carries the marker of a session and does not die of SIGKILL, like one that sleeps in the kernel: signals to
 * it are dropped. Once SIGKILL was sent, a caller that waits for its end finds that the deadline has passed.
 */
export async function undying(t: TestContext, marker: string): Promise<Undying> {
  const { name, value } = sessionMarker(marker)
  const child = spawn('/bin/sleep', ['600'], { env: { [name]: value }, stdio: 'ignore' })
  t.after(() => child.kill('SIGKILL'))
  const gone = once(child, 'exit')
  await once(child, 'spawn')
  const pid = child.pid ?? 0
  const [kill, now] = [process.kill.bind(process), Date.now.bind(Date)]
  let isUndying = true
  let kills = 0
  t.mock.method(Date, 'now', () => now() + kills * 60_000)
  t.mock.method(process, 'kill', (to: number, signal?: NodeJS.Signals | number) => {
    if (to !== pid || !isUndying) return kill(to, signal)
    if (signal === 'SIGKILL') kills += 1
    return true
  })
  return {
    pid,
    startTime: (await startTimeOf(pid)) ?? '',
    gone,
    kills: () => kills,
    yield: () => {
      isUndying = false
    },
  }
}
