import { openFence } from '../sigils/fenced-lines.ts'

/** Text as a program or an agent wrote it, in a fence that nothing in it can close. */
export function fenced(text: string): string {
  const clean = visible(text)
  let longest = 2
  for (const [run] of clean.matchAll(/`+/g)) longest = Math.max(longest, run.length)
  const fence = '`'.repeat(longest + 1)
  return `${fence}\n${clean}\n${fence}`
}

/** Text that may hold fences of its own: one that it leaves open is closed, so that what follows is not part of it. */
export function closed(text: string): string {
  const clean = visible(text)
  const open = openFence(clean.split('\n'))
  return open === undefined ? clean : `${clean}\n${open}`
}

/** Without what a terminal or a reader could be deceived by: control characters, marks that turn the direction of text. */
export function visible(text: string): string {
  return text.replace(/\r\n?/g, '\n').replace(UNSEEN, '').toWellFormed()
}

const UNSEEN = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g
