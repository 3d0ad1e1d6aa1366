import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import type { Values } from '../../src/domain/config/settings.ts'
import type { ModelKind } from '../../src/domain/option-values.ts'
import { openSimulator } from '../../src/simulator/open.ts'
import { agentEnv, bareEnv, tempDir } from '../support/world.ts'

/** What a model does with a request: replies with a text, refuses, answers with a status, is silent, or breaks off. */
export type Step =
  | { says: string }
  | { refuses: true }
  | { status: 400 | 401 | 404 | 429; message: string }
  | { hangs: true }
  | { drops: true }

/** A vendor's API on loopback. */
export interface Vendor {
  /** The settings that lead there. */
  settings: Partial<Values>
  env: Record<string, string>
  /** What was sent with each request for a reply, as JSON text. */
  asked(): string[]
  /** Resolves when the first request for a reply has come. */
  heard: Promise<unknown>
  /** Resolves when the other side has broken off a request that got no reply. */
  abandoned: Promise<void>
}

export const KEY = 'fake-key-0123456789'

/** The reply to the test question of `pcc config brain`. */
export const JUDGE_APPLE = JSON.stringify({
  answers: [{ chosen: ['Apple'] }],
  confidence: 1,
  reasoning: 'A hammer is none.',
})

/** Serves the steps in order, the last one for ever, in the vendor's own format. */
export function openVendor(t: TestContext, kind: ModelKind, steps: [Step, ...Step[]]): Promise<Vendor> {
  return kind === 'claude' ? openAnthropic(t, steps) : openHttp(t, WIRES[kind], steps)
}

interface Wire {
  /** The path of requests for replies. */
  path: RegExp
  settings(url: string): Partial<Values>
  reply(text: string): unknown
  refusal: unknown
  error(status: number, message: string): unknown
  /** The header with the key, if there is one. */
  key?: { header: string; value: string }
  /** Lists of models, by path. */
  lists: Record<string, unknown>
}

const WIRES: Record<Exclude<ModelKind, 'claude'>, Wire> = {
  gemini: {
    path: /^\/v1beta\/models\/gemini-2\.0-flash:generateContent$/,
    settings: url => ({
      'brain.type': 'gemini',
      'brain.gemini.api_key': 'env:GEMINI_API_KEY',
      'brain.gemini.base_url': `${url}/v1beta`,
    }),
    key: { header: 'x-goog-api-key', value: KEY },
    reply: text => ({
      candidates: [{ content: { role: 'model', parts: [{ text }] }, finishReason: 'STOP', index: 0 }],
      usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 },
    }),
    refusal: { promptFeedback: { blockReason: 'PROHIBITED_CONTENT' }, usageMetadata: { promptTokenCount: 10 } },
    error: (code, message) => ({ error: { code, message, status: 'FAILED' } }),
    lists: {
      '/v1beta/models': {
        models: [
          { name: 'models/gemini-2.0-flash', supportedGenerationMethods: ['generateContent'] },
          { name: 'models/text-embedding-004', supportedGenerationMethods: ['embedContent'] },
        ],
      },
    },
  },
  ollama: {
    path: /^\/api\/chat$/,
    settings: url => ({ 'brain.type': 'ollama', 'brain.ollama.host': url, 'brain.ollama.model': 'llama3.2:1b' }),
    reply: content => ({
      model: 'llama3.2:1b',
      created_at: '2026-01-01T00:00:00.000Z',
      message: { role: 'assistant', content },
      done: true,
      done_reason: 'stop',
      total_duration: 1,
      prompt_eval_count: 10,
      eval_count: 5,
    }),
    // The API has no field for a refusal: a model that refuses says so in prose.
    refusal: undefined,
    error: (_status, message) => ({ error: message }),
    lists: {
      '/api/tags': { models: [{ name: 'llama3.2:1b', model: 'llama3.2:1b' }] },
      '/api/version': { version: '0.9.0' },
    },
  },
  'openai-compatible': {
    path: /^\/v1\/chat\/completions$/,
    settings: url => ({
      'brain.type': 'openai-compatible',
      'brain.openai_compatible.base_url': `${url}/v1`,
      'brain.openai_compatible.api_key': 'env:GEMINI_API_KEY',
      'brain.openai_compatible.model': 'local-model',
    }),
    key: { header: 'authorization', value: `Bearer ${KEY}` },
    reply: content => completion({ role: 'assistant', content }, 'stop'),
    refusal: completion({ role: 'assistant', content: null }, 'content_filter'),
    error: (code, message) => ({ error: { message, type: 'invalid_request_error', code } }),
    lists: { '/v1/models': { object: 'list', data: [{ id: 'local-model', object: 'model' }] } },
  },
}

function completion(message: object, finish_reason: string) {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1_760_000_000,
    model: 'local-model',
    choices: [{ index: 0, message, finish_reason }],
    usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
  }
}

async function openHttp(t: TestContext, wire: Wire, steps: [Step, ...Step[]]): Promise<Vendor> {
  const asked: string[] = []
  const { promise: heard, resolve: hear } = Promise.withResolvers<void>()
  const { promise: abandoned, resolve: abandon } = Promise.withResolvers<void>()
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const send = (status: number, body: unknown) =>
      response
        .writeHead(status, { 'content-type': 'application/json', 'retry-after-ms': '1' })
        .end(JSON.stringify(body))
    if (wire.key && request.headers[wire.key.header] !== wire.key.value)
      return send(401, wire.error(401, `API key not valid: ${KEY}`))
    const { pathname } = new URL(request.url ?? '/', 'http://loopback')
    if (request.method === 'GET') {
      const list = wire.lists[pathname]
      return list ? send(200, list) : send(404, wire.error(404, 'not found'))
    }
    if (!wire.path.test(pathname)) return send(404, wire.error(404, `no model at ${pathname}`))
    asked.push(JSON.stringify(await json(request)))
    hear()
    const step = steps[asked.length - 1] ?? steps.at(-1) ?? steps[0]
    if ('says' in step) return send(200, wire.reply(step.says))
    if ('refuses' in step) return send(200, wire.refusal ?? wire.reply('I cannot help with that.'))
    if ('status' in step) return send(step.status, wire.error(step.status, step.message))
    if ('drops' in step) return request.socket.destroy()
    response.once('close', abandon)
  }
  const server = createServer((request, response) => void serve(request, response))
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  t.after(async () => {
    server.closeAllConnections()
    await new Promise(done => server.close(done))
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const env = { ...bareEnv(tempDir(t)), GEMINI_API_KEY: KEY }
  return { settings: wire.settings(url), env, asked: () => asked, heard, abandoned }
}

/** The real Claude Code with the simulator: a second try is a conversation of its own, recognized by its prompt. */
async function openAnthropic(t: TestContext, [first, second = first]: [Step, ...Step[]]): Promise<Vendor> {
  const conversations = [
    { match: { contains: 'Your reply could not be used' }, turns: [turnOf(second)] },
    { turns: [turnOf(first)] },
  ]
  const simulator = await openSimulator({ text: JSON.stringify({ conversations }) })
  t.after(() => simulator.close())
  return {
    settings: { 'brain.type': 'claude' },
    env: agentEnv(tempDir(t), simulator.url),
    asked: () => simulator.requests.map(request => JSON.stringify(request.body)),
    heard: simulator.waitForRequest(() => true),
    abandoned: Promise.resolve(),
  }
}

function turnOf(step: Step) {
  if ('refuses' in step) return { fault: { kind: 'refusal' } }
  if ('hangs' in step) return { fault: { kind: 'stall' } }
  if ('drops' in step) return { fault: { kind: 'reset' } }
  if ('status' in step) return { fault: { kind: FAULTS[step.status], message: step.message, ...waitOf(step.status) } }
  const object = asObject(step.says)
  return object ? { tools: [{ name: 'StructuredOutput', input: object }] } : { text: step.says }
}

const FAULTS = { 400: 'http', 401: 'unauthorized', 404: 'model_not_found', 429: 'rate_limit' }

/** Claude Code does not wait longer than a minute for a retry. */
function waitOf(status: number) {
  return status === 429 ? { retry_after: 120 } : status === 400 ? { status } : {}
}

function asObject(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}
