import type { IncomingMessage, ServerResponse } from 'node:http'
import { answerCount, answerRequest, type Desk } from './answer.ts'
import { withoutSecrets } from './request-log.ts'
import { anthropicWire } from './wire/anthropic/wire.ts'
import { geminiWire } from './wire/gemini/wire.ts'
import { newId } from './wire/ids.ts'
import { responsesWire } from './wire/responses/wire.ts'
import { sendJson } from './wire/send.ts'
import type { Wire } from './wire/wire.ts'

/** The smallest of the vendors' own limits for a request. */
const MAX_BODY = 32_000_000
const WIRES: readonly Wire[] = [anthropicWire, geminiWire, responsesWire]

interface Arrival {
  incoming: IncomingMessage
  response: ServerResponse
  closing: AbortSignal
}

/** Takes one HTTP request from its first byte to the end of its answer; never throws. */
export async function handle({ incoming, response, closing }: Arrival, desk: Desk): Promise<void> {
  const left = new AbortController()
  response.once('close', () => left.abort())
  const signal = AbortSignal.any([left.signal, closing])
  try {
    await dispatch({ incoming, response, signal }, desk)
  } catch (error) {
    // Whoever left before the end gets no answer; anything else is our own fault and is told as such.
    if (signal.aborted) response.destroy()
    else if (response.headersSent) response.destroy()
    else
      reject({ incoming, response }, desk, { status: 500, type: 'api_error', message: `Simulator: ${String(error)}` })
  }
}

async function dispatch(
  { incoming, response, signal }: { incoming: IncomingMessage; response: ServerResponse; signal: AbortSignal },
  desk: Desk,
): Promise<void> {
  const path = new URL(incoming.url ?? '/', 'http://127.0.0.1').pathname
  const arrival = { incoming, response }
  if (path === '/' && (incoming.method === 'GET' || incoming.method === 'HEAD')) return greet(arrival, desk)
  const wire = WIRES.find(one => one.route(incoming.method ?? '', path))
  const route = wire?.route(incoming.method ?? '', path)
  if (!wire || !route) return reject(arrival, desk, noRoute(incoming))
  const text = await bodyOf(incoming)
  if (text === undefined) return reject(arrival, desk, { ...TOO_LARGE, wire })
  const body = parseJson(text)
  const asked = body === undefined ? { problem: 'The request body is not valid JSON.' } : wire.read(body, route)
  if ('problem' in asked) return reject(arrival, desk, { wire, status: 400, message: asked.problem })
  const exchange = { wire, incoming, response, asked, bytes: text.length, signal }
  return route.asks === 'count' ? answerCount(exchange, desk) : answerRequest(exchange, desk)
}

interface Refusal {
  /** Whose form the refusal has. */
  wire?: Wire
  status: number
  type?: string
  message: string
}

const TOO_LARGE: Refusal = { status: 413, type: 'request_too_large', message: 'Request exceeds the maximum size' }

function noRoute(incoming: IncomingMessage): Refusal {
  const served = WIRES.map(wire => wire.serves).join('; ')
  const message = `Simulator: there is no ${incoming.method} ${incoming.url}; it serves ${served}`
  return { status: 404, type: 'not_found_error', message }
}

function greet({ incoming, response }: Omit<Arrival, 'closing'>, desk: Desk): void {
  const id = newId('req')
  desk.log.add(bare(incoming, { id, time: desk.clock.now(), response: 'hello', status: 200 }))
  const body = incoming.method === 'HEAD' ? '' : '{"simulator":"perpetualcc"}'
  response.writeHead(200, { 'content-type': 'application/json', 'request-id': id }).end(body)
}

function reject(
  { incoming, response }: Omit<Arrival, 'closing'>,
  desk: Desk,
  { wire = anthropicWire, status, type, message }: Refusal,
): void {
  const id = newId('req')
  desk.log.add(bare(incoming, { id, time: desk.clock.now(), response: 'refused', status }))
  // The rest of a body that nobody reads would keep the connection busy.
  const headers = { [wire.idHeader]: id, 'x-should-retry': 'false', connection: 'close' }
  sendJson(response, { status, headers, body: wire.refusal(status, message, type) })
}

function bare(incoming: IncomingMessage, known: { id: string; time: number; response: string; status: number }) {
  return {
    ...known,
    method: incoming.method ?? '',
    path: incoming.url ?? '',
    headers: withoutSecrets(incoming.headers),
    session: '',
    model: '',
    stream: false,
    first_prompt: '',
    prompt: '',
    tool_results: [],
    conversation: null,
    turn: null,
    unexpected: [],
    body: { system: undefined, messages: [], tools: [] },
  }
}

/** The body as text, or undefined when it is too large. */
async function bodyOf(incoming: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > MAX_BODY) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
