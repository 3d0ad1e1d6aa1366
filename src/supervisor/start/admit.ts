import type { Admission } from '../admission.ts'
import { asksFor } from '../asks.ts'
import { record } from '../record.ts'
import type { Parts, Run } from '../run.ts'

interface AdmitOptions {
  admission: Admission
  max: number
  parts: Parts
}

/**
 * Waits for a free place. The session that is next in line gets its agent's process started ahead of time: only while such
 * a one is known is a process kept warm. Nothing comes back when the session was stopped while it waited.
 */
export async function admit(run: Run, { admission, max, parts }: AdmitOptions): Promise<Disposable | undefined> {
  const open = { ...run.open, asks: asksFor(run, parts) }
  let waited: Promise<void> | undefined
  let warming: Promise<void> | undefined
  const leave = await admission.enter({
    id: run.id,
    max,
    waits: () => {
      waited = tellWaiting(run, parts, max)
    },
    next: () => {
      run.log.info({}, 'next in line, its agent is started ahead of time')
      warming = run.driver.warm(open)
    },
  })
  await waited
  if (leave && run.stopping === undefined) {
    if (waited) await record(run, parts, { events: [], patch: { status_reason: null } })
    return { [Symbol.dispose]: leave }
  }
  leave?.()
  await warming
  await run.driver.cool(open)
  return undefined
}

async function tellWaiting(run: Run, parts: Parts, max: number): Promise<void> {
  const text = `Waits for a free place: ${max} at once (sessions.max_concurrent).`
  const event = { actor: 'daemon', subject: run.id, kind: 'session.noted', body: { text } } as const
  await record(run, parts, { events: [event], patch: { status_reason: 'waits for a free place' } })
}
