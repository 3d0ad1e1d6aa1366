import { unreachable } from '../../base/errors.ts'
import { type ScenarioTime, scenarioTimeMs } from '../faults.ts'
import type { RateLimits, ScriptedTurn } from '../scenario.ts'
import { MessagesRequest, readDialogue } from './anthropic-request.ts'
import {
  type ErrorFault,
  newId,
  type StreamPiece,
  textPieces,
  tokensIn,
  type Wire,
  type WireAnswer,
  type WireError,
  type WireRequest,
} from './wire.ts'

/** An error in Anthropic's own format, with its own texts where clients read them. */
function anthropicFailure(fault: ErrorFault, { model, now }: { model: string; now: number }): WireError {
  switch (fault.kind) {
    case 'limit': {
      const resetMs = scenarioTimeMs(fault.resets ?? fault.until ?? '+5h', now) ?? now
      const message = fault.message ?? "This request would exceed your account's rate limit. Please try again later."
      return failure(429, 'rate_limit_error', message, limitHeaders(fault.window, resetMs, now))
    }
    case 'rate_limit':
      return failure(429, 'rate_limit_error', fault.message ?? 'Number of requests has exceeded your rate limit.', {
        'anthropic-ratelimit-requests-limit': '50',
        'anthropic-ratelimit-requests-remaining': '0',
        'anthropic-ratelimit-requests-reset': new Date(now + (fault.retry_after ?? 1) * 1000).toISOString(),
        ...retryAfter(fault.retry_after ?? 1),
      })
    case 'overloaded':
      return failure(529, 'overloaded_error', fault.message ?? 'Overloaded', retryAfter(fault.retry_after))
    case 'server_error':
      return failure(500, 'api_error', fault.message ?? 'Internal server error', retryAfter(fault.retry_after))
    case 'unauthorized':
      return failure(401, 'authentication_error', fault.message ?? 'invalid x-api-key')
    case 'forbidden':
      return failure(
        403,
        'permission_error',
        fault.message ?? 'Your API key does not have permission to use this resource.',
      )
    case 'model_not_found':
      return failure(404, 'not_found_error', fault.message ?? `model: ${model}`)
    case 'credit_too_low':
      return failure(400, 'invalid_request_error', fault.message ?? CREDIT)
    case 'prompt_too_long':
      return failure(
        400,
        'invalid_request_error',
        fault.message ?? 'prompt is too long: 250000 tokens > 200000 maximum',
      )
    case 'http':
      return failure(fault.status, fault.type, fault.message ?? `Error ${fault.status}`, fault.headers)
    default:
      return unreachable(fault)
  }
}

const CREDIT =
  'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.'

/** Anthropic's error format. */
function errorBody(type = 'api_error', message = ''): { type: string; error: { type: string; message: string } } {
  return { type: 'error', error: { type, message } }
}

function failure(status: number, type: string, message: string, headers: Record<string, string> = {}): WireError {
  return { status, headers, body: errorBody(type, message) }
}

function retryAfter(seconds: number | undefined): Record<string, string> {
  return seconds === undefined ? {} : { 'retry-after': String(seconds) }
}

const MESSAGES = '/v1/messages'

/** The Messages API of Anthropic. */
export const anthropicWire: Wire = {
  name: 'anthropic',
  idHeader: 'request-id',
  serves: 'POST /v1/messages and POST /v1/messages/count_tokens',
  route(method, path) {
    if (method !== 'POST') return undefined
    if (path === MESSAGES) return { asks: 'answer' }
    return path === `${MESSAGES}/count_tokens` ? { asks: 'count' } : undefined
  },
  read,
  *pieces(answer): Generator<StreamPiece> {
    for (const event of streamEvents(messageOf(answer)))
      yield { text: encodeEvent(event), isDelta: event.type === 'content_block_delta' }
  },
  whole: messageOf,
  count: tokens => ({ input_tokens: tokens }),
  windows: (limits: RateLimits, now) => rateLimitHeaders(limits, now),
  failure: anthropicFailure,
  refusal: (_status, message, type = 'invalid_request_error') => errorBody(type, message),
  broken: 'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"te\n\n',
  errorEvent: (type, message) => encodeEvent(errorBody(type, message)),
}

function read(body: unknown): WireRequest | { problem: string } {
  const parsed = MessagesRequest.safeParse(body)
  if (!parsed.success) {
    const issue = parsed.error.issues[0]
    return { problem: `${issue?.path.join('.')}: ${issue?.message}` }
  }
  const { system, messages, stream = false, metadata } = parsed.data
  const dialogue = readDialogue(parsed.data)
  return {
    dialogue,
    stream,
    session: metadata?.user_id ?? '',
    body: { system, messages, tools: dialogue.tools },
    freeform: [],
  }
}

function messageOf({ turn, request, bytes }: WireAnswer) {
  return messageFor(turn, request.dialogue.model, bytes)
}

type ContentBlock =
  | { type: 'thinking'; thinking: string; signature: string }
  | { type: 'text'; text: string }
  | { type: 'tool_use'; id: string; name: string; input: Record<string, unknown> }

interface AnthropicMessage {
  id: string
  type: 'message'
  role: 'assistant'
  model: string
  content: ContentBlock[]
  stop_reason: string
  stop_sequence: null
  usage: Record<string, number>
}

/** The complete answer of a turn. Ids are new every time, because tools that count usage take a repeated id for a repeated line. */
export function messageFor(turn: ScriptedTurn, model: string, requestBytes: number): AnthropicMessage {
  const content = blocksOf(turn)
  return {
    id: newId('msg'),
    type: 'message',
    role: 'assistant',
    model,
    content,
    stop_reason: turn.stop_reason ?? (turn.tools ? 'tool_use' : 'end_turn'),
    stop_sequence: null,
    usage: {
      input_tokens: tokensIn(requestBytes),
      output_tokens: tokensIn(JSON.stringify(content).length),
      cache_read_input_tokens: 0,
      cache_creation_input_tokens: 0,
      ...definedOnly(turn.usage ?? {}),
    },
  }
}

function blocksOf(turn: ScriptedTurn): ContentBlock[] {
  const blocks: ContentBlock[] = []
  if (turn.thinking) blocks.push({ type: 'thinking', thinking: turn.thinking, signature: 'c2ltdWxhdGVk' })
  if (turn.text) blocks.push({ type: 'text', text: turn.text })
  for (const { name, input } of turn.tools ?? []) blocks.push({ type: 'tool_use', id: newId('toolu'), name, input })
  return blocks
}

function definedOnly(counts: Record<string, number | undefined>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(counts).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
  )
}

export interface StreamEvent {
  type: string
  [key: string]: unknown
}

/** The stream events of an answer, in order. */
export function* streamEvents(message: AnthropicMessage): Generator<StreamEvent> {
  const { output_tokens, ...input } = message.usage
  const opening = { ...message, content: [], stop_reason: null, usage: { ...input, output_tokens: 1 } }
  yield { type: 'message_start', message: opening }
  for (const [index, block] of message.content.entries()) {
    yield { type: 'content_block_start', index, content_block: withoutContent(block) }
    for (const delta of deltasOf(block)) yield { type: 'content_block_delta', index, delta }
    yield { type: 'content_block_stop', index }
  }
  const { stop_reason, stop_sequence, usage } = message
  yield { type: 'message_delta', delta: { stop_reason, stop_sequence }, usage }
  yield { type: 'message_stop' }
}

/** Encodes one event. */
export function encodeEvent(event: StreamEvent): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
}

function withoutContent(block: ContentBlock): ContentBlock {
  if (block.type === 'text') return { ...block, text: '' }
  if (block.type === 'thinking') return { ...block, thinking: '', signature: '' }
  return { ...block, input: {} }
}

function* deltasOf(block: ContentBlock): Generator<{ type: string; [key: string]: string }> {
  if (block.type === 'text') for (const text of textPieces(block.text)) yield { type: 'text_delta', text }
  if (block.type === 'tool_use') {
    for (const part of textPieces(JSON.stringify(block.input))) yield { type: 'input_json_delta', partial_json: part }
  }
  if (block.type === 'thinking') {
    for (const thinking of textPieces(block.thinking)) yield { type: 'thinking_delta', thinking }
    yield { type: 'signature_delta', signature: block.signature }
  }
}

const PREFIX = 'anthropic-ratelimit-unified'
const SHORT = { five_hour: '5h', seven_day: '7d' } as const

/** The headers that report how much of a subscription's windows is used. */
function rateLimitHeaders(limits: RateLimits, now: number): Record<string, string> {
  const headers: Record<string, string> = {
    [`${PREFIX}-status`]: limits.status,
    [`${PREFIX}-representative-claim`]: limits.representative_claim,
    [`${PREFIX}-fallback`]: 'unavailable',
  }
  for (const name of ['five_hour', 'seven_day'] as const) {
    const window = limits[name]
    if (!window) continue
    const short = `${PREFIX}-${SHORT[name]}`
    headers[`${short}-status`] = window.status
    headers[`${short}-utilization`] = String(window.utilization)
    headers[`${short}-reset`] = seconds(window.resets, now)
    if (window.surpassed_threshold !== undefined) {
      headers[`${short}-surpassed-threshold`] = String(window.surpassed_threshold)
    }
  }
  const claimed = limits.representative_claim === 'five_hour' ? limits.five_hour : limits.seven_day
  const window = claimed ?? limits.five_hour ?? limits.seven_day
  if (window) headers[`${PREFIX}-reset`] = seconds(window.resets, now)
  return headers
}

/** The headers of a subscription that is refused until `resetMs`. */
function limitHeaders(claim: string, resetMs: number, now: number): Record<string, string> {
  const reset = Math.ceil(resetMs / 1000)
  const used = { utilization: 1, resets: reset, status: 'rejected', surpassed_threshold: 1 } as const
  const free = { utilization: 0.5, resets: reset + 86_400, status: 'allowed' } as const
  const five = claim === 'five_hour'
  return {
    ...rateLimitHeaders(
      { status: 'rejected', representative_claim: claim, five_hour: five ? used : free, seven_day: five ? free : used },
      now,
    ),
    [`${PREFIX}-overage-status`]: 'rejected',
    [`${PREFIX}-overage-disabled-reason`]: 'org_level_disabled',
    'retry-after': String(Math.max(0, reset - Math.floor(now / 1000))),
  }
}

function seconds(moment: ScenarioTime, now: number): string {
  return String(Math.ceil((scenarioTimeMs(moment, now) ?? now) / 1000))
}
