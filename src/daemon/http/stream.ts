import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { StoredEvent } from '../../domain/event.ts'
import type { Store } from '../../store/store.ts'

export interface StreamOptions {
  /** Id of the last event the client has. */
  after: number
  subject: string | undefined
  store: Store
  /** Aborted when the daemon ends: what is stored by then is still told. */
  closing: AbortSignal
}

/** Events read at once for a client that is behind when the daemon ends. */
const PAGE = 200

/** Slow enough to cost nothing, fast enough that a dead connection is noticed within a minute. */
const HEARTBEAT_MS = 20_000

/**
 * Server-sent events, read from the store by cursor: a client that reads slowly makes us read slowly, and nothing is kept for
 * it in memory. Returns when the client has left or the daemon ends.
 */
export async function streamEvents(response: ServerResponse, options: StreamOptions): Promise<void> {
  const { subject, store, closing } = options
  const left = new AbortController()
  response.on('close', () => left.abort())
  response.on('error', () => left.abort())
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    connection: 'keep-alive',
  })
  response.write(': hello\n\n')
  const heartbeat = setInterval(() => {
    if (!response.writableNeedDrain) response.write(': still here\n\n')
  }, HEARTBEAT_MS)
  heartbeat.unref()

  let last = options.after
  const tell = async (event: StoredEvent) => {
    last = event.id
    if (!response.write(lineOf(event))) await drained(response, left.signal)
  }
  try {
    const signal = AbortSignal.any([left.signal, closing])
    for await (const event of store.follow(last, { subject, signal })) await tell(event)
    while (!left.signal.aborted) {
      const rest = await store.events({ subject, after: last, limit: PAGE })
      for (const event of rest) await tell(event)
      if (rest.length < PAGE) break
    }
  } finally {
    clearInterval(heartbeat)
    response.end()
  }
}

function lineOf(event: StoredEvent): string {
  return `id: ${event.id}\nevent: ${event.kind}\ndata: ${JSON.stringify(event)}\n\n`
}

async function drained(response: ServerResponse, left: AbortSignal): Promise<void> {
  await once(response, 'drain', { signal: left }).catch(() => {
    // The client left; the loop sees the same signal and ends.
  })
}
