import type { AppError } from '../../base/errors.ts'
import type { ErrorReply } from '../../domain/api.ts'

/** An error as the API tells it. */
export function errorReply(error: AppError): ErrorReply {
  return { error: { code: error.code, message: error.message, next: error.next } }
}
