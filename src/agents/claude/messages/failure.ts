import { AppError } from '../../../base/errors.ts'
import type { Failure, FailureKind } from '../../../domain/session.ts'

/** The vendor's own words for what went wrong (`error` of an assistant message or a retry). */
const BY_ERROR: Record<string, FailureKind> = {
  authentication_failed: 'auth',
  oauth_org_not_allowed: 'auth',
  account_on_hold: 'auth',
  verification_required: 'auth',
  cloud_credential_error: 'auth',
  billing_error: 'billing',
  rate_limit: 'limit',
  overloaded: 'overloaded',
  model_not_found: 'model_not_found',
  server_error: 'server',
}

/** Where the status says more than the word: the vendor calls an overload a server error. */
const BY_STATUS: Record<number, FailureKind> = { 401: 'auth', 402: 'billing', 429: 'limit', 529: 'overloaded' }

export interface ApiError {
  error?: string | undefined
  status?: number | null | undefined
  message?: string | undefined
}

/** A failure of the vendor's API as a kind. */
export function apiFailure({ error = 'unknown', status, message }: ApiError): Failure {
  const kind = kindOf(error, status ?? undefined)
  const told = message || `the vendor's API failed (${error})`
  return {
    kind,
    message: kind === 'auth' ? howToLogIn(told, status ?? undefined) : told,
    ...(typeof status === 'number' && { status }),
  }
}

function kindOf(error: string, status: number | undefined): FailureKind {
  // Without a status no answer came at all, whatever the vendor calls it.
  if (status === undefined) return error === 'server_error' ? 'network' : (BY_ERROR[error] ?? 'network')
  return BY_STATUS[status] ?? BY_ERROR[error] ?? (status >= 500 ? 'server' : 'other')
}

/** The vendor says "Please run /login", which nobody can do here: one message says what helps. */
function howToLogIn(told: string, status: number | undefined): string {
  const { message, next } = new AppError('agent_not_logged_in', {})
  const what = status === undefined ? message : `The login was refused (${told}).`
  return `${what} ${next}`
}
