import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FaultReply } from './fault.ts'
import type { Message } from './message.ts'
import { encodeEvent, type StreamEvent, streamEvents } from './stream.ts'

type Flaw = Extract<FaultReply, { shows: 'flaw' }>

export interface Sending {
  response: ServerResponse
  headers: Record<string, string>
  latency: { first_ms: number; delta_ms: number }
  /** Aborts when the client leaves or the server closes: no wait outlives either. */
  signal: AbortSignal
  flaw?: Flaw | undefined
}

/** Sends an answer as a stream of events, whole or with a flaw. */
export async function sendStream(
  message: Message,
  { response, headers, latency, signal, flaw }: Sending,
): Promise<void> {
  await pause(latency.first_ms, signal)
  if (flaw?.flaw === 'reset') return reset(response)
  if (flaw?.flaw === 'stall' && flaw.after === 0) return until(signal)
  response.writeHead(200, {
    ...headers,
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
  })
  let sent = 0
  for (const event of streamEvents(message)) {
    if (flaw && sent >= flaw.after) return spoil(response, flaw, signal)
    response.write(encodeEvent(event))
    sent++
    if (event.type === 'content_block_delta') await pause(latency.delta_ms, signal)
  }
  if (flaw) return spoil(response, flaw, signal)
  response.end()
}

/** Sends an answer as one JSON body, whole or with a flaw. */
export async function sendWhole(
  message: Message,
  { response, headers, latency, signal, flaw }: Sending,
): Promise<void> {
  await pause(latency.first_ms, signal)
  if (!flaw) return sendJson(response, { status: 200, headers, body: message })
  if (flaw.flaw === 'reset') return reset(response)
  if (flaw.flaw === 'stall') return until(signal)
  if (flaw.flaw === 'error')
    return sendJson(response, { status: 529, headers, body: errorBody(flaw.type, flaw.message) })
  const body = JSON.stringify(message)
  const half = body.slice(0, body.length / 2)
  response.writeHead(200, { ...headers, 'content-type': 'application/json' })
  if (flaw.flaw === 'malformed') response.end(half)
  else response.write(half, () => response.destroy())
}

/** Sends a JSON body with a status. */
export function sendJson(
  response: ServerResponse,
  { status, headers, body }: { status: number; headers: Record<string, string>; body: unknown },
): void {
  response.writeHead(status, { ...headers, 'content-type': 'application/json' })
  response.end(JSON.stringify(body))
}

/** The vendor's form of an error. */
export function errorBody(type = 'api_error', message = ''): StreamEvent {
  return { type: 'error', error: { type, message } }
}

async function spoil(response: ServerResponse, flaw: Flaw, signal: AbortSignal): Promise<void> {
  switch (flaw.flaw) {
    case 'stall':
      return until(signal)
    case 'malformed':
      response.end('event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"te\n\n')
      return
    case 'error':
      response.end(encodeEvent(errorBody(flaw.type, flaw.message)))
      return
    case 'cut':
    case 'reset':
      // The events before must have left before the socket is torn down, or the cut would come too early.
      response.write('', () => response.destroy())
  }
}

function reset(response: ServerResponse): void {
  response.socket?.resetAndDestroy()
}

/** Resolves when the client has left or the server closes. */
function until(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise(resolve => signal.addEventListener('abort', () => resolve(), { once: true }))
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (ms > 0) await sleep(ms, undefined, { signal })
}
