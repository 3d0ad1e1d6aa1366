import { newId } from '../ids.ts'
import type { Wire } from '../wire.ts'
import { encode, streamedAnswer, wholeAnswer } from './answer.ts'
import { openaiError, responsesFailure } from './fault.ts'
import { usageHeaders } from './limit-headers.ts'
import { readResponses } from './request.ts'

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
