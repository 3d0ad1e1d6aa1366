import { setTimeout as sleep } from 'node:timers/promises'
import { AppError, messageOf } from '../../base/errors.ts'
import type { StoredEvent } from '../../domain/event.ts'
import type { RunDetail } from '../../domain/runs/run-view.ts'
import type { Connection } from '../connection/connection.ts'

export interface Feed {
  client: Connection
  run: string
  signal: AbortSignal
  show(now: RunDetail): void
  /** The daemon does not answer; it is asked again. */
  lost(problem: string): void
}

/** Looked at again even if nothing happened: clocks and quota go on. */
const EVERY_MS = 5_000
/** A hundred events at once are one look. */
const APART_MS = 120
/** Asked in vain so often, one after the other, it stays away. */
const PATIENCE = 20

/** Shows a run as it changes until it has ended, and gives it then; nothing where the signal came first. */
export async function followRun(feed: Feed): Promise<RunDetail | undefined> {
  const { client, run, signal, show, lost } = feed
  const over = new AbortController()
  const both = AbortSignal.any([signal, over.signal])
  let ring = () => {}
  const listening = listen(client, both, () => ring())
  let missed = 0
  try {
    while (!signal.aborted) {
      const rung = new Promise<void>(resolve => {
        ring = resolve
      })
      try {
        const now = await client.request<RunDetail>('GET', `/runs/${run}`)
        missed = 0
        if (signal.aborted) return undefined
        show(now)
        if (now.state === 'ended') return now
      } catch (error) {
        missed += 1
        if (!(error instanceof AppError && error.code === 'daemon_unreachable')) throw error
        if (missed > PATIENCE) throw new AppError('daemon_gone', { id: run })
        if (!signal.aborted) lost(messageOf(error))
      }
      await pause(missed > 0 ? APART_MS * 4 : APART_MS, both)
      const waited = new AbortController()
      if (missed === 0) await Promise.race([rung, pause(EVERY_MS, AbortSignal.any([both, waited.signal]))])
      waited.abort()
    }
    return undefined
  } finally {
    over.abort()
    await listening
  }
}

/** Whatever happens to anybody is a reason to look: what a run waits for is often elsewhere. */
async function listen(client: Connection, signal: AbortSignal, ring: () => void): Promise<void> {
  while (!signal.aborted) {
    try {
      for await (const event of client.stream('/events?from=now', { after: 0, signal })) if (isTelling(event)) ring()
    } catch {
      // The look itself tells that the daemon is gone.
    }
    await pause(APART_MS * 4, signal)
  }
}

function isTelling({ kind }: StoredEvent): boolean {
  return kind !== 'usage.reported' && kind !== 'agent.thought'
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined) // left, or over
}
