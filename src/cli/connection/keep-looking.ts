import { setTimeout as sleep } from 'node:timers/promises'
import type { StoredEvent } from '../../domain/event.ts'
import type { Connection } from './connection.ts'

export interface Looking {
  client: Connection
  signal: AbortSignal
  /** Whether an event is a reason to look. */
  isTelling(event: StoredEvent): boolean
  /** Looked again after that long even if nothing happened. */
  everyMs: number
  /** A hundred events within that long are one look. */
  apartMs: number
  /** `over` ends it; `missed` (no answer) is tried again sooner. */
  look(): Promise<'seen' | 'missed' | 'over'>
}

/** Looks at once, whenever an event tells to, and from time to time, until the signal comes or it is over. */
export async function keepLooking({ client, signal, isTelling, everyMs, apartMs, look }: Looking): Promise<void> {
  const over = new AbortController()
  const both = AbortSignal.any([signal, over.signal])
  let ring = () => {}
  const listening = listen({ client, signal: both, isTelling, apartMs }, () => ring())
  try {
    while (!both.aborted) {
      const rung = new Promise<void>(resolve => {
        ring = resolve
      })
      const seen = await look()
      if (seen === 'over') return
      await pause(seen === 'missed' ? apartMs * 4 : apartMs, both)
      const waited = new AbortController()
      if (seen === 'seen') await Promise.race([rung, pause(everyMs, AbortSignal.any([both, waited.signal]))])
      waited.abort()
    }
  } finally {
    over.abort()
    await listening
  }
}

async function listen(
  { client, signal, isTelling, apartMs }: Pick<Looking, 'client' | 'signal' | 'isTelling' | 'apartMs'>,
  ring: () => void,
): Promise<void> {
  while (!signal.aborted) {
    try {
      for await (const event of client.stream('/events?from=now', { after: 0, signal })) if (isTelling(event)) ring()
    } catch {
      // The look itself tells that the daemon is gone.
    }
    await pause(apartMs * 4, signal)
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined) // left, or over
}
