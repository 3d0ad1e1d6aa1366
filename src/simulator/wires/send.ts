import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { StreamFlaw, Wire, WireAnswer } from './wire.ts'

export interface SendOptions {
  wire: Wire
  response: ServerResponse
  headers: Record<string, string>
  latency: { first_ms: number; delta_ms: number }
  /** Aborts when the client disconnects or the server closes, so that no wait outlives them. */
  signal: AbortSignal
  flaw?: StreamFlaw | undefined
}

/** Sends an answer as a stream of events, complete or with a flaw. */
export async function sendStream(answer: WireAnswer, sending: SendOptions): Promise<void> {
  const { wire, response, headers, latency, signal, flaw } = sending
  await pause(latency.first_ms, signal)
  if (flaw?.flaw === 'reset') return reset(response)
  if (flaw?.flaw === 'stall' && flaw.after === 0) return waitForAbort(signal)
  response.writeHead(200, {
    ...headers,
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
  })
  let sent = 0
  for (const piece of wire.pieces(answer)) {
    if (flaw && sent >= flaw.after) return sendFlaw(sending, flaw)
    response.write(piece.text)
    sent++
    if (piece.isDelta) await pause(latency.delta_ms, signal)
  }
  if (flaw) return sendFlaw(sending, flaw)
  response.end()
}

/** Sends an answer as one JSON body, complete or with a flaw. */
export async function sendWhole(answer: WireAnswer, sending: SendOptions): Promise<void> {
  const { wire, response, headers, latency, signal, flaw } = sending
  await pause(latency.first_ms, signal)
  const whole = wire.whole(answer)
  if (!flaw) return sendJson(response, { status: 200, headers, body: whole })
  if (flaw.flaw === 'reset') return reset(response)
  if (flaw.flaw === 'stall') return waitForAbort(signal)
  if (flaw.flaw === 'error') {
    const { model } = answer.request.dialogue
    const { status, body } = wire.failure({ kind: 'overloaded', message: flaw.message }, { model, now: 0 })
    return sendJson(response, { status, headers, body })
  }
  const body = JSON.stringify(whole)
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

async function sendFlaw({ wire, response, signal }: SendOptions, flaw: StreamFlaw): Promise<void> {
  switch (flaw.flaw) {
    case 'stall':
      return waitForAbort(signal)
    case 'malformed':
      response.end(wire.broken)
      return
    case 'error':
      response.end(wire.errorEvent(flaw.type ?? 'overloaded_error', flaw.message ?? 'Overloaded'))
      return
    case 'cut':
    case 'reset':
      // The earlier events must be sent before the socket is destroyed, or the cut would come too early.
      response.write('', () => response.destroy())
  }
}

function reset(response: ServerResponse): void {
  response.socket?.resetAndDestroy()
}

/** Resolves when the client disconnects or the server closes. */
function waitForAbort(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise(resolve => signal.addEventListener('abort', () => resolve(), { once: true }))
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (ms > 0) await sleep(ms, undefined, { signal })
}
