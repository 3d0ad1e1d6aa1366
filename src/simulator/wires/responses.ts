import { unreachable } from '../../base/errors.ts'
import { scenarioTimeMs } from '../faults.ts'
import type { RateLimits } from '../scenario.ts'
import { callId, readResponses } from './responses-request.ts'
import {
  type ErrorFault,
  newId,
  type StreamPiece,
  textPieces,
  tokensIn,
  type Wire,
  type WireAnswer,
  type WireError,
} from './wire.ts'

interface Item {
  type: string
  id: string
  [key: string]: unknown
}

/** The answer as one body. */
function wholeAnswer(answer: WireAnswer) {
  const id = newId('resp')
  const output = itemsOf(answer, id)
  return { ...envelope(answer, id), ...ending(answer, output), output }
}

/** The answer as a stream of numbered events. */
function* streamedAnswer(answer: WireAnswer): Generator<StreamPiece> {
  const id = newId('resp')
  const output = itemsOf(answer, id)
  let number = 0
  const event = (type: string, more: object, isDelta = false): StreamPiece => ({
    text: encode({ type, sequence_number: number++, ...more }),
    isDelta,
  })
  yield event('response.created', { response: { ...envelope(answer, id), status: 'in_progress', output: [] } })
  for (const [output_index, item] of output.entries()) {
    const at = { output_index, item_id: item.id }
    yield event('response.output_item.added', { output_index, item: withoutContent(item) })
    for (const { type, ...more } of partsOf(item)) yield event(type, { ...at, ...more }, type.endsWith('.delta'))
    yield event('response.output_item.done', { output_index, item })
  }
  const end = ending(answer, output)
  yield event(`response.${end.status}`, { response: { ...envelope(answer, id), ...end, output } })
}

/** Encodes one event. */
function encode(event: { type: string; [key: string]: unknown }): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
}

function envelope({ request }: WireAnswer, id: string) {
  return { id, object: 'response', created_at: 0, model: request.dialogue.model, error: null }
}

const CUT: Record<string, string> = {
  max_tokens: 'max_output_tokens',
  model_context_window_exceeded: 'max_output_tokens',
  refusal: 'content_filter',
}

function ending(answer: WireAnswer, output: Item[]) {
  const reason = CUT[answer.turn.stop_reason ?? '']
  return {
    status: reason ? 'incomplete' : 'completed',
    incomplete_details: reason ? { reason } : null,
    usage: usageOf(answer, output),
  }
}

function itemsOf({ turn, request }: WireAnswer, id: string): Item[] {
  const summary = turn.thinking ? [{ type: 'summary_text', text: turn.thinking }] : []
  return [
    ...(turn.thinking ? [{ type: 'reasoning', id: newId('rs'), summary }] : []),
    ...(turn.text ? [message(turn.text)] : []),
    ...(turn.tools ?? []).map(({ name, input }, at): Item => {
      const call = { id: newId('call'), call_id: callId(id, at), name, status: 'completed' }
      // A tool that takes free text gets the only text of its input.
      if (request.freeform.includes(name))
        return { type: 'custom_tool_call', ...call, input: String(Object.values(input)[0] ?? '') }
      return { type: 'function_call', ...call, ...request.namespaced?.[name], arguments: JSON.stringify(input) }
    }),
  ]
}

function message(text: string): Item {
  const content = [{ type: 'output_text', text, annotations: [] }]
  return { type: 'message', id: newId('msg'), role: 'assistant', status: 'completed', content }
}

function withoutContent(item: Item): Item {
  if (item.type === 'message') return { ...item, status: 'in_progress', content: [] }
  if (item.type === 'reasoning') return { ...item, summary: [] }
  return { ...item, status: 'in_progress', ...(item.type === 'function_call' ? { arguments: '' } : { input: '' }) }
}

function* partsOf(item: Item): Generator<{ type: string; [key: string]: unknown }> {
  if (item.type === 'message') {
    const [{ text }] = item['content'] as [{ text: string }]
    const at = { content_index: 0 }
    yield { type: 'response.content_part.added', ...at, part: { type: 'output_text', text: '', annotations: [] } }
    for (const delta of textPieces(text)) yield { type: 'response.output_text.delta', ...at, delta }
    yield { type: 'response.output_text.done', ...at, text }
  }
  if (item.type === 'reasoning') {
    const [{ text }] = item['summary'] as [{ text: string }]
    const at = { summary_index: 0 }
    yield { type: 'response.reasoning_summary_part.added', ...at, part: { type: 'summary_text', text: '' } }
    for (const delta of textPieces(text)) yield { type: 'response.reasoning_summary_text.delta', ...at, delta }
    yield { type: 'response.reasoning_summary_text.done', ...at, text }
  }
  if (item.type === 'function_call')
    for (const delta of textPieces(String(item['arguments'])))
      yield { type: 'response.function_call_arguments.delta', delta }
  if (item.type === 'custom_tool_call')
    for (const delta of textPieces(String(item['input'])))
      yield { type: 'response.custom_tool_call_input.delta', delta }
}

function usageOf({ turn, bytes }: WireAnswer, output: Item[]) {
  const { usage = {} } = turn
  const cached = usage.cache_read_input_tokens ?? 0
  const input = (usage.input_tokens ?? tokensIn(bytes)) + cached + (usage.cache_creation_input_tokens ?? 0)
  const outputTokens = usage.output_tokens ?? tokensIn(JSON.stringify(output).length)
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input + outputTokens,
  }
}

/** An error in OpenAI's own format. Codex reads `type` and `code`, and the reset time of a used-up allowance. */
function responsesFailure(fault: ErrorFault, { model, now }: { model: string; now: number }): WireError {
  switch (fault.kind) {
    case 'limit': {
      const resetMs = scenarioTimeMs(fault.resets ?? fault.until ?? '+5h', now) ?? now
      const resets_at = Math.ceil(resetMs / 1000)
      const message = fault.message ?? 'The usage limit has been reached'
      const more = { plan_type: 'plus', resets_at, resets_in_seconds: Math.max(0, resets_at - Math.floor(now / 1000)) }
      return {
        ...failure(429, { type: 'usage_limit_reached', message, ...more }),
        headers: usedUpHeaders(fault.window, resets_at),
      }
    }
    case 'rate_limit': {
      const seconds = fault.retry_after ?? 1
      const message = fault.message ?? `Rate limit reached for ${model}. Please try again in ${seconds}s.`
      return {
        ...failure(429, { type: 'requests', code: 'rate_limit_exceeded', message }),
        headers: { 'retry-after': String(seconds), 'x-ratelimit-remaining-requests': '0' },
      }
    }
    case 'overloaded':
      return failure(503, {
        type: 'service_unavailable_error',
        code: 'server_is_overloaded',
        message: fault.message ?? 'Our servers are currently overloaded. Please try again later.',
      })
    case 'server_error':
      return failure(500, {
        type: 'server_error',
        message: fault.message ?? 'The server had an error while processing your request.',
      })
    case 'unauthorized':
      return failure(401, {
        ...INVALID,
        code: 'invalid_api_key',
        message: fault.message ?? 'Incorrect API key provided.',
      })
    case 'forbidden':
      return failure(403, {
        ...INVALID,
        code: 'forbidden',
        message: fault.message ?? 'You do not have access to this.',
      })
    case 'model_not_found': {
      const message = fault.message ?? `The model '${model}' does not exist or you do not have access to it.`
      return failure(404, { ...INVALID, code: 'model_not_found', message })
    }
    case 'credit_too_low': {
      const message = fault.message ?? 'You exceeded your current quota, please check your plan and billing details.'
      return failure(429, { type: 'insufficient_quota', code: 'insufficient_quota', message })
    }
    case 'prompt_too_long': {
      const message = fault.message ?? 'Your input exceeds the context window of this model.'
      return failure(400, { ...INVALID, code: 'context_length_exceeded', message })
    }
    case 'http': {
      const { status, type, message = `Error ${status}`, headers } = fault
      return { ...failure(status, { type, message }), headers }
    }
    default:
      return unreachable(fault)
  }
}

const INVALID = { type: 'invalid_request_error' }

/** OpenAI's error format. */
function openaiError(error: { type: string; message: string; [key: string]: unknown }) {
  return { error: { param: null, code: null, ...error } }
}

function failure(status: number, error: { type: string; message: string; [key: string]: unknown }): WireError {
  return { status, headers: {}, body: openaiError(error) }
}

const WINDOWS = { five_hour: { place: 'primary', minutes: 300 }, seven_day: { place: 'secondary', minutes: 10_080 } }
type Name = keyof typeof WINDOWS

/** The headers that tell Codex how much of its windows is used. */
function usageHeaders(limits: RateLimits, now: number): Record<string, string> {
  const names: Name[] = ['five_hour', 'seven_day']
  const headers = names.map(name => {
    const window = limits[name]
    if (!window) return {}
    const resetsAt = Math.ceil((scenarioTimeMs(window.resets, now) ?? now) / 1000)
    return windowHeaders(name, { used: window.utilization, resetsAt })
  })
  return Object.assign({}, ...headers)
}

/** The headers of an account whose window is used up; the other one is half used. */
function usedUpHeaders(claim: string, resetsAt: number): Record<string, string> {
  const [full, other]: Name[] = claim === 'seven_day' ? ['seven_day', 'five_hour'] : ['five_hour', 'seven_day']
  return {
    ...windowHeaders(full ?? 'five_hour', { used: 1, resetsAt }),
    ...windowHeaders(other ?? 'seven_day', { used: 0.5, resetsAt: resetsAt + 86_400 }),
  }
}

function windowHeaders(name: Name, { used, resetsAt }: { used: number; resetsAt: number }): Record<string, string> {
  const { place, minutes } = WINDOWS[name]
  return {
    [`x-codex-${place}-used-percent`]: String(Math.round(used * 1000) / 10),
    [`x-codex-${place}-window-minutes`]: String(minutes),
    [`x-codex-${place}-reset-at`]: String(resetsAt),
  }
}

/** The Responses API of OpenAI, as Codex speaks it. */
export const responsesWire: Wire = {
  name: 'responses',
  idHeader: 'x-request-id',
  serves: 'POST /v1/responses',
  route: (method, path) => (method === 'POST' && path === '/v1/responses' ? { asks: 'answer' } : undefined),
  read: readResponses,
  pieces: streamedAnswer,
  whole: wholeAnswer,
  count: tokens => ({ object: 'response.input_tokens', input_tokens: tokens }),
  windows: usageHeaders,
  failure: responsesFailure,
  refusal: (_status, message, type = 'invalid_request_error') => openaiError({ type, message }),
  broken: 'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","del\n\n',
  errorEvent(_type, message) {
    const error = { code: 'server_is_overloaded', message }
    return encode({ type: 'response.failed', response: { id: newId('resp'), status: 'failed', error } })
  },
}
