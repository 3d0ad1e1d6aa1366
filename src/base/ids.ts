import { randomBytes } from 'node:crypto'

/** `s-3fa91c`: short enough to type, random so that a two-letter prefix is usually unique (docs/adr/0002). */
export function shortId(prefix: string): string {
  return `${prefix}-${randomBytes(3).toString('hex')}`
}

/** An unguessable value for tokens and process markers. */
export function secretId(bytes = 32): string {
  return randomBytes(bytes).toString('base64url')
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Whether a text has the form of a UUID. */
export function isUuid(text: string): boolean {
  return UUID.test(text)
}
