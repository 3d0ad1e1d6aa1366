import { unreachable } from '../../../base/errors.ts'
import { momentMs } from '../../scenario/moment.ts'
import type { ErrorFault, WireError } from '../wire.ts'

const DETAIL = 'type.googleapis.com/google.rpc'

/** An error in Google's own form. The details are what Gemini CLI reads to tell a pause from an end. */
export function geminiFailure(fault: ErrorFault, { model, now }: { model: string; now: number }): WireError {
  switch (fault.kind) {
    case 'limit': {
      const resetMs = momentMs(fault.resets ?? fault.until ?? '+5h', now) ?? now
      const seconds = Math.max(1, Math.ceil((resetMs - now) / 1000))
      const message =
        fault.message ??
        `You have exhausted your capacity on this model. Your quota will reset after ${inWords(seconds)}.`
      return failure(429, message, [
        info('QUOTA_EXHAUSTED', 'cloudcode-pa.googleapis.com', { model, quotaResetDelay: `${seconds}s` }),
        retryIn(seconds),
      ])
    }
    case 'rate_limit': {
      const seconds = fault.retry_after ?? 1
      const message =
        fault.message ??
        `You exceeded your current quota, please check your plan and billing details. Please retry in ${seconds}s.`
      return failure(429, message, [quota('GenerateRequestsPerMinutePerProjectPerModel-FreeTier'), retryIn(seconds)])
    }
    case 'overloaded':
      return failure(503, fault.message ?? 'The model is overloaded. Please try again later.')
    case 'server_error':
      return failure(500, fault.message ?? 'An internal error has occurred.')
    case 'unauthorized':
      return failure(400, fault.message ?? 'API key not valid. Please pass a valid API key.', [
        info('API_KEY_INVALID', 'googleapis.com', { service: 'generativelanguage.googleapis.com' }),
      ])
    case 'forbidden':
      return failure(403, fault.message ?? 'The caller does not have permission')
    case 'model_not_found':
      return failure(404, fault.message ?? `models/${model} is not found for API version v1beta.`)
    case 'credit_too_low':
      return failure(
        429,
        fault.message ??
          'Your prepayment credits are depleted. Please go to AI Studio to manage your project and billing.',
        [info('INSUFFICIENT_G1_CREDITS_BALANCE', 'cloudcode-pa.googleapis.com', {})],
      )
    case 'prompt_too_long':
      return failure(
        400,
        fault.message ?? 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
      )
    case 'http':
      return { ...failure(fault.status, fault.message ?? `Error ${fault.status}`), headers: fault.headers }
    default:
      return unreachable(fault)
  }
}

const STATUS: Record<number, string> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
}

/** Google's form of an error. */
export function googleError(code: number, message: string, details: unknown[] = []) {
  return { error: { code, message, status: STATUS[code] ?? 'UNKNOWN', ...(details.length > 0 && { details }) } }
}

function failure(status: number, message: string, details: unknown[] = []): WireError {
  return { status, headers: {}, body: googleError(status, message, details) }
}

function info(reason: string, domain: string, metadata: Record<string, string>) {
  return { '@type': `${DETAIL}.ErrorInfo`, reason, domain, metadata }
}

function retryIn(seconds: number) {
  return { '@type': `${DETAIL}.RetryInfo`, retryDelay: `${seconds}s` }
}

function quota(quotaId: string) {
  const quotaMetric = 'generativelanguage.googleapis.com/generate_content_free_tier_requests'
  return { '@type': `${DETAIL}.QuotaFailure`, violations: [{ quotaMetric, quotaId, quotaValue: '50' }] }
}

/** `2h3m4s`, as Google writes it. */
function inWords(seconds: number): string {
  const [hours, minutes, rest] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60), seconds % 60]
  return `${hours ? `${hours}h` : ''}${hours || minutes ? `${minutes}m` : ''}${rest}s`
}
