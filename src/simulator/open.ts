import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname } from 'node:path'
import { type Clock, systemClock } from '../base/clock.ts'
import { AppError } from '../base/errors.ts'
import { answerRequest, answerTokenCount, type SimulatorContext } from './answer.ts'
import { faultEndings } from './locate.ts'
import { parseScenario, readScenarioFile } from './read-scenario.ts'
import { type LoggedRequest, openRequestLog, withoutSecrets } from './request-log.ts'
import { anthropicWire } from './wires/anthropic.ts'
import { geminiWire } from './wires/gemini.ts'
import { responsesWire } from './wires/responses.ts'
import { sendJson } from './wires/send.ts'
import { newId, type Wire } from './wires/wire.ts'

export interface SimulatorOptions {
  /** A scenario file, or its text. */
  file?: string | undefined
  text?: string | undefined
  /** 0 means any free port. */
  port?: number | undefined
  /** Every request is appended here as a JSON line. */
  log?: string | undefined
  /** How many requests are kept in memory. */
  keep?: number | undefined
  clock?: Clock | undefined
  /** Called with every logged request. */
  onRequest?: ((request: LoggedRequest) => void) | undefined
}

export interface Simulator extends AsyncDisposable {
  readonly url: string
  readonly port: number
  /** The latest requests, oldest first. */
  readonly requests: LoggedRequest[]
  /** The first matching request, past or future. */
  waitForRequest(match: (request: LoggedRequest) => boolean, signal?: AbortSignal): Promise<LoggedRequest>
  close(): Promise<void>
}

/** Serves a scenario over the vendors' APIs on 127.0.0.1. Closing ends every open answer. */
export async function openSimulator(options: SimulatorOptions): Promise<Simulator> {
  const { file, text = '', port = 0, log: logFile, keep = 1000, clock = systemClock } = options
  const scenario = file === undefined ? parseScenario(text, 'scenario') : readScenarioFile(file)
  const log = openRequestLog({ file: logFile, keep, onRequest: options.onRequest })
  const closing = new AbortController()
  const endings = faultEndings({ clock, dir: file === undefined ? process.cwd() : dirname(file) })
  const context = { scenario, clock, endings, log }
  const server = createServer(
    (incoming, response) => void handle({ incoming, response, closing: closing.signal }, context),
  )
  // An agent whose tool runs for minutes keeps its connection open; closing the connection would look like a fault.
  server.keepAliveTimeout = 600_000
  try {
    await listen(server, port)
  } catch (error) {
    log.close()
    throw error
  }
  const actualPort = (server.address() as AddressInfo).port
  const close = async () => {
    if (closing.signal.aborted) return
    closing.abort()
    const { promise, resolve } = Promise.withResolvers<void>()
    server.close(() => resolve())
    server.closeAllConnections()
    await promise
    log.close()
  }
  return {
    url: `http://127.0.0.1:${actualPort}`,
    port: actualPort,
    requests: log.requests,
    waitForRequest: (match, signal) => log.waitFor(match, signal),
    close,
    [Symbol.asyncDispose]: close,
  }
}

function listen(server: Server, port: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', (error: NodeJS.ErrnoException) => {
    reject(error.code === 'EADDRINUSE' || error.code === 'EACCES' ? new AppError('port_taken', { port }, error) : error)
  })
  server.listen(port, '127.0.0.1', resolve)
  return promise
}

/** The smallest of the vendors' own limits for a request. */
const MAX_BODY = 32_000_000
const WIRES: readonly Wire[] = [anthropicWire, geminiWire, responsesWire]

interface Arrival {
  incoming: IncomingMessage
  response: ServerResponse
  closing: AbortSignal
}

/** Handles one HTTP request from its first byte to the end of its answer; never throws. */
async function handle({ incoming, response, closing }: Arrival, context: SimulatorContext): Promise<void> {
  const disconnected = new AbortController()
  response.once('close', () => disconnected.abort())
  const signal = AbortSignal.any([disconnected.signal, closing])
  try {
    await dispatch({ incoming, response, signal }, context)
  } catch (error) {
    // A client that disconnected gets no answer; anything else is our own error and is reported as such.
    if (signal.aborted) response.destroy()
    else if (response.headersSent) response.destroy()
    else
      reject({ incoming, response }, context, {
        status: 500,
        type: 'api_error',
        message: `Simulator: ${String(error)}`,
      })
  }
}

async function dispatch(
  { incoming, response, signal }: { incoming: IncomingMessage; response: ServerResponse; signal: AbortSignal },
  context: SimulatorContext,
): Promise<void> {
  const path = new URL(incoming.url ?? '/', 'http://127.0.0.1').pathname
  const arrival = { incoming, response }
  const stranger = findStranger(incoming)
  if (stranger !== undefined) return reject(arrival, context, { ...WRONG_HOST, message: `Simulator: ${stranger}` })
  if (path === '/' && (incoming.method === 'GET' || incoming.method === 'HEAD')) return greet(arrival, context)
  const wire = WIRES.find(candidate => candidate.route(incoming.method ?? '', path))
  const route = wire?.route(incoming.method ?? '', path)
  if (!wire || !route) return reject(arrival, context, noRoute(incoming))
  const text = await readBody(incoming)
  if (text === undefined) return reject(arrival, context, { ...TOO_LARGE, wire })
  const body = parseJson(text)
  const request = body === undefined ? { problem: 'The request body is not valid JSON.' } : wire.read(body, route)
  if ('problem' in request) return reject(arrival, context, { wire, status: 400, message: request.problem })
  const exchange = { wire, incoming, response, request, bytes: Buffer.byteLength(text), signal }
  return route.asks === 'count' ? answerTokenCount(exchange, context) : answerRequest(exchange, context)
}

interface Refusal {
  /** The vendor whose error format is used. */
  wire?: Wire
  status: number
  type?: string
  message: string
}

const TOO_LARGE: Refusal = { status: 413, type: 'request_too_large', message: 'Request exceeds the maximum size' }

const WRONG_HOST = { status: 421, type: 'permission_error' }

/** What shows that a web page asks and not an agent, as the daemon checks it; undefined if nothing does. */
function findStranger({ headers: { host = '', origin } }: IncomingMessage): string | undefined {
  if (!OUR_HOST.test(host)) return `the Host header ${JSON.stringify(host)} is not this simulator`
  return origin === undefined ? undefined : 'a web page may not ask'
}

/** Any port: it may be forwarded, as into a container. */
const OUR_HOST = /^(127\.0\.0\.1|localhost)(:\d+)?$/i

function noRoute(incoming: IncomingMessage): Refusal {
  const served = WIRES.map(wire => wire.serves).join('; ')
  const message = `Simulator: there is no ${incoming.method} ${incoming.url}; it serves ${served}`
  return { status: 404, type: 'not_found_error', message }
}

function greet({ incoming, response }: Omit<Arrival, 'closing'>, context: SimulatorContext): void {
  const id = newId('req')
  context.log.add(logWithoutDialogue(incoming, { id, time: context.clock.now(), response: 'hello', status: 200 }))
  const body = incoming.method === 'HEAD' ? '' : '{"simulator":"perpetualcc"}'
  response.writeHead(200, { 'content-type': 'application/json', 'request-id': id }).end(body)
}

function reject(
  { incoming, response }: Omit<Arrival, 'closing'>,
  context: SimulatorContext,
  { wire = anthropicWire, status, type, message }: Refusal,
): void {
  const id = newId('req')
  context.log.add(logWithoutDialogue(incoming, { id, time: context.clock.now(), response: 'refused', status }))
  // The unread rest of the body would keep the connection busy.
  const headers = { [wire.idHeader]: id, 'x-should-retry': 'false', connection: 'close' }
  sendJson(response, { status, headers, body: wire.refusal(status, message, type) })
}

function logWithoutDialogue(
  incoming: IncomingMessage,
  outcome: { id: string; time: number; response: string; status: number },
) {
  return {
    ...outcome,
    method: incoming.method ?? '',
    path: incoming.url ?? '',
    headers: withoutSecrets(incoming.headers),
    session: '',
    model: '',
    stream: false,
    bytes: 0,
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
async function readBody(incoming: IncomingMessage): Promise<string | undefined> {
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
