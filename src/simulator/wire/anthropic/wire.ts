import type { RateLimits } from '../../scenario/schema.ts'
import type { Answering, Asked, Piece, Wire } from '../wire.ts'
import { anthropicFailure, errorBody } from './fault.ts'
import { rateLimitHeaders } from './limit-headers.ts'
import { messageFor } from './message.ts'
import { MessagesRequest, readDialogue } from './request.ts'
import { encodeEvent, streamEvents } from './stream.ts'

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
  *pieces(answer): Generator<Piece> {
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

function read(body: unknown): Asked | { problem: string } {
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

function messageOf({ turn, asked, bytes }: Answering) {
  return messageFor(turn, asked.dialogue.model, bytes)
}
