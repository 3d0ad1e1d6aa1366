import { APICallError, RetryError } from 'ai'
import { redactText } from '../../base/redact.ts'

const LONGEST = 300

/** Why a model did not answer, in words that say what to do. No key is in it. */
export function sayFailure(name: string, error: unknown, key?: string): string {
  const last = RetryError.isInstance(error) ? error.lastError : error
  const clean = (text: string) =>
    redactText(text, key === undefined ? [] : [key])
      .replace(/[^\P{C}]+/gu, ' ')
      .slice(0, LONGEST)
  if (!APICallError.isInstance(last)) return clean(last instanceof Error ? last.message : String(last))
  const said = clean(last.message)
  const { statusCode } = last
  if (statusCode === undefined) return `it cannot be reached at ${new URL(last.url).origin}: ${said}`
  if (isWrongKey(statusCode, last.message))
    return `it refuses the key (${statusCode}): ${said}. Set another with: pcc config brain ${name}`
  if (statusCode === 404) return `it does not know the model (404): ${said}. Choose one with: pcc config brain ${name}`
  if (statusCode === 429) return `it allows no more requests for now (429): ${said}`
  return `it answered with status ${statusCode}: ${said}`
}

/** Google says 400 to a key that is none. */
function isWrongKey(status: number, message: string): boolean {
  return status === 401 || status === 403 || (status === 400 && /api.?key/i.test(message))
}
