/**
 * Bytes of text that are counted as one token. Vendors count with tokenizers of their own, which are not to be had here: English
 * prose has about four and a half bytes a token, code about three and a half, Chinese three. A cap must hold for code, so the
 * estimate is right for that, up to a third too high for prose and a little too low for Chinese.
 */
const BYTES_PER_TOKEN = 3.5

/** How many tokens a text has, about. Never more for a part of a text than for the whole. */
export function tokensOf(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN)
}

/** The longest beginning of a text that is within so many tokens, and no character cut in two. */
export function firstTokens(text: string, tokens: number): string {
  const bytes = Buffer.from(text.toWellFormed())
  let end = Math.min(bytes.length, Math.max(0, Math.floor(tokens * BYTES_PER_TOKEN)))
  while (end > 0 && end < bytes.length && isInside(bytes[end])) end--
  return bytes.subarray(0, end).toString()
}

/** The same from the end. */
export function lastTokens(text: string, tokens: number): string {
  const bytes = Buffer.from(text.toWellFormed())
  let start = Math.max(0, bytes.length - Math.max(0, Math.floor(tokens * BYTES_PER_TOKEN)))
  while (start < bytes.length && isInside(bytes[start])) start++
  return bytes.subarray(start).toString()
}

/** Of UTF-8: a byte that goes on with a character. */
function isInside(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80
}
