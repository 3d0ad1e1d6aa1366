import { randomBytes } from 'node:crypto'

/** `s-3fa91c`: short enough to type, random so that a two-letter prefix is usually unique (docs/adr/0002). */
export function shortId(prefix: string): string {
  return `${prefix}-${randomBytes(3).toString('hex')}`
}

/** An unguessable value for tokens and process markers. */
export function secretId(bytes = 32): string {
  return randomBytes(bytes).toString('base64url')
}

/** Eight hex digits that tell texts apart (FNV-1a); anybody can find two texts with the same ones. `node:crypto` takes 5 ms to load. */
export function checksum(text: string): string {
  let sum = 0x811c9dc5
  for (const byte of Buffer.from(text)) sum = Math.imul(sum ^ byte, 0x01000193)
  return (sum >>> 0).toString(16).padStart(8, '0')
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Whether a text has the form of a UUID. */
export function isUuid(text: string): boolean {
  return UUID.test(text)
}
