import { setTimeout as sleep } from 'node:timers/promises'
import type { Run } from './run.ts'

/** Interrupts; an agent that does not end its turn for that is closed under it. `done` is the end of the session. */
export async function endAgent(run: Run, done: Promise<void>): Promise<void> {
  const session = run.session
  if (!session) return
  const patience = new AbortController()
  const interrupted = session.interrupt().then(
    () => done,
    () => undefined, // an agent that cannot be interrupted is closed
  )
  await Promise.race([interrupted, sleep(INTERRUPT_MS, undefined, { signal: patience.signal }).catch(() => {})])
  patience.abort()
  if (run.session === session) await session[Symbol.asyncDispose]()
}

/** An interrupt takes about 10 ms; this is for an agent that hangs. */
const INTERRUPT_MS = 3_000
