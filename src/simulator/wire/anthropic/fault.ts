import { unreachable } from '../../../base/errors.ts'
import { momentMs } from '../../scenario/moment.ts'
import type { ErrorFault, WireError } from '../wire.ts'
import { limitHeaders } from './limit-headers.ts'

/** An error in Anthropic's own words where a client reads them. */
export function anthropicFailure(fault: ErrorFault, { model, now }: { model: string; now: number }): WireError {
  switch (fault.kind) {
    case 'limit': {
      const resetMs = momentMs(fault.resets ?? fault.until ?? '+5h', now) ?? now
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

/** Anthropic's form of an error. */
export function errorBody(
  type = 'api_error',
  message = '',
): { type: string; error: { type: string; message: string } } {
  return { type: 'error', error: { type, message } }
}

function failure(status: number, type: string, message: string, headers: Record<string, string> = {}): WireError {
  return { status, headers, body: errorBody(type, message) }
}

function retryAfter(seconds: number | undefined): Record<string, string> {
  return seconds === undefined ? {} : { 'retry-after': String(seconds) }
}
