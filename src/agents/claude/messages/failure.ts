import { notLoggedIn } from '../../../domain/agents/login.ts'
import type { Failure, FailureKind } from '../../../domain/session.ts'
import { claudeManifest } from '../../manifests/claude.ts'

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

/** Of a result whose account has used up its allowance. */
export const LIMIT_CODE = 'usage_limit_reached'

export interface ApiError {
  error?: string | undefined
  status?: number | null | undefined
  message?: string | undefined
  /** The vendor's own code, where the result has one. */
  code?: string | null | undefined
}

/** A failure of the vendor's API as a kind. */
export function apiFailure({ error = 'unknown', status, message, code }: ApiError): Failure {
  const kind = code === LIMIT_CODE ? 'limit' : kindOf(error, status ?? undefined)
  const told = message || `the vendor's API failed (${error})`
  return {
    kind,
    message: kind === 'auth' ? loginProblem(message || error, status ?? undefined) : told,
    ...(typeof status === 'number' && { status }),
  }
}

function kindOf(error: string, status: number | undefined): FailureKind {
  // Without a status no answer came at all, whatever the vendor calls it.
  if (status === undefined) return error === 'server_error' ? 'network' : (BY_ERROR[error] ?? 'network')
  return BY_STATUS[status] ?? BY_ERROR[error] ?? (status >= 500 ? 'server' : 'other')
}

/** The vendor says "Please run /login", which nobody can do here; what helps is said by whoever shows it. */
function loginProblem(told: string, status: number | undefined): string {
  return status === undefined ? notLoggedIn(claudeManifest).message : `The login was refused (${told}).`
}
