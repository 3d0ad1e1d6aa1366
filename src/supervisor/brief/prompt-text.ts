import { openFence } from '../session/quoted-lines.ts'

/** Puts text by a program or an agent into a fence that nothing in it can close. */
export function fenceText(text: string): string {
  const clean = stripInvisible(text)
  let longest = 2
  for (const [run] of clean.matchAll(/`+/g)) longest = Math.max(longest, run.length)
  const fence = '`'.repeat(longest + 1)
  return `${fence}\n${clean}\n${fence}`
}

/** Closes a fence that a text leaves open, so that what follows is not part of it. */
export function closeFence(text: string): string {
  const clean = stripInvisible(text)
  const open = openFence(clean.split('\n'))
  return open === undefined ? clean : `${clean}\n${open}`
}

/** Removes what could deceive a terminal or a reader: control characters, and marks that turn the direction of text. */
export function stripInvisible(text: string): string {
  return text.replace(/\r\n?/g, '\n').replace(INVISIBLE, '').toWellFormed()
}

const INVISIBLE = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g

/**
 * Bytes of text that count as one token. Vendors count with tokenizers of their own, which are not available here: English prose
 * has about four and a half bytes a token, code about three and a half, Chinese three. A cap must hold for code, so the estimate
 * is right for code, up to a third too high for prose and a little too low for Chinese.
 */
const BYTES_PER_TOKEN = 3.5

/** Estimates the tokens of a text. A part of a text never has more than the whole. */
export function countTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN)
}

/** The longest beginning of a text within a number of tokens; no character is cut in two. */
export function firstTokens(text: string, tokens: number): string {
  const bytes = Buffer.from(text.toWellFormed())
  let end = Math.min(bytes.length, Math.max(0, Math.floor(tokens * BYTES_PER_TOKEN)))
  while (end > 0 && end < bytes.length && isContinuation(bytes[end])) end--
  return bytes.subarray(0, end).toString()
}

/** The same from the end. */
export function lastTokens(text: string, tokens: number): string {
  const bytes = Buffer.from(text.toWellFormed())
  let start = Math.max(0, bytes.length - Math.max(0, Math.floor(tokens * BYTES_PER_TOKEN)))
  while (start < bytes.length && isContinuation(bytes[start])) start++
  return bytes.subarray(start).toString()
}

/** Whether a byte of UTF-8 continues a character. */
function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80
}

/** The JSON object in a reply: the whole reply, or its last code block, since models explain themselves even when told not to. */
export function jsonIn(text: string): unknown {
  return allJsonIn(text)[0]
}

/** All JSON objects in a reply; the one that `jsonIn` returns comes first. */
export function allJsonIn(text: string): unknown[] {
  const blocks = [...text.matchAll(/^[ \t]*(`{3,}|~{3,})[^\n]*\n([\s\S]*?)^[ \t]*\1[ \t]*$/gm)].map(
    ([, , body = '']) => body,
  )
  return [text, ...blocks.reverse()].map(parseObject).filter(value => value !== undefined)
}

function parseObject(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined // the next candidate is tried
  }
}

/** How text of somebody outside begins in a task. */
export const EXTERNAL_TEXT = 'External text, from'
