import { unreachable } from '../../../base/errors.ts'
import { momentMs } from '../../scenario/moment.ts'
import type { ErrorFault, WireError } from '../wire.ts'
import { usedUpHeaders } from './limit-headers.ts'

/** An error in OpenAI's own form. Codex reads `type` and `code`, and of a used-up allowance when it comes back. */
export function responsesFailure(fault: ErrorFault, { model, now }: { model: string; now: number }): WireError {
  switch (fault.kind) {
    case 'limit': {
      const resetMs = momentMs(fault.resets ?? fault.until ?? '+5h', now) ?? now
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

/** OpenAI's form of an error. */
export function openaiError(error: { type: string; message: string; [key: string]: unknown }) {
  return { error: { param: null, code: null, ...error } }
}

function failure(status: number, error: { type: string; message: string; [key: string]: unknown }): WireError {
  return { status, headers: {}, body: openaiError(error) }
}
