import type { IncomingMessage, ServerResponse } from 'node:http'
import { answerCount, answerMessages, type Desk } from './answer.ts'
import { withoutSecrets } from './request-log.ts'
import { newId } from './wire/message.ts'
import { MessagesRequest } from './wire/request.ts'
import { errorBody, sendJson } from './wire/send.ts'

/** The vendor's own limit for a request. */
const MAX_BODY = 32_000_000

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
  const count = path === '/v1/messages/count_tokens'
  if (incoming.method !== 'POST' || (path !== '/v1/messages' && !count)) return reject(arrival, desk, noRoute(incoming))
  const text = await bodyOf(incoming)
  if (text === undefined) return reject(arrival, desk, TOO_LARGE)
  const parsed = parseRequest(text)
  if ('problem' in parsed) return reject(arrival, desk, badRequest(parsed.problem))
  const exchange = { incoming, response, request: parsed.request, bytes: text.length, signal }
  return count ? answerCount(exchange, desk) : answerMessages(exchange, desk)
}

interface Refusal {
  status: number
  type: string
  message: string
}

const TOO_LARGE: Refusal = { status: 413, type: 'request_too_large', message: 'Request exceeds the maximum size' }

function badRequest(problem: string): Refusal {
  return { status: 400, type: 'invalid_request_error', message: problem }
}

function noRoute(incoming: IncomingMessage): Refusal {
  const message = `Simulator: there is no ${incoming.method} ${incoming.url}; it serves POST /v1/messages and POST /v1/messages/count_tokens`
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
  { status, type, message }: Refusal,
): void {
  const id = newId('req')
  desk.log.add(bare(incoming, { id, time: desk.clock.now(), response: 'refused', status }))
  // The rest of a body that nobody reads would keep the connection busy.
  const headers = { 'request-id': id, 'x-should-retry': 'false', connection: 'close' }
  sendJson(response, { status, headers, body: errorBody(type, message) })
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

function parseRequest(text: string): { request: MessagesRequest } | { problem: string } {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { problem: 'The request body is not valid JSON.' }
  }
  const parsed = MessagesRequest.safeParse(value)
  if (parsed.success) return { request: parsed.data }
  const issue = parsed.error.issues[0]
  return { problem: `${issue?.path.join('.')}: ${issue?.message}` }
}
