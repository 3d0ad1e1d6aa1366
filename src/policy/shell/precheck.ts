import type { Reason } from '../../domain/assessment.ts'

/** Longer commands are not read at all. A person does not review them, and a parser's worst case lies there. */
export const MAX_COMMAND = 16 * 1024

/** Brackets, substitutions and here-documents that begin. Past this a command is hostile or generated; it is never LOW. */
const MAX_OPENERS = 32
/** So many that nobody wrote them by hand: not read at all, because a parser's worst case lies there too. */
const FAR_TOO_MANY_OPENERS = 512

const OPENER = /[({`]|\$\[|<</g
/** Everything below space but tab and newline, and delete. A carriage return counts unless a newline follows. */
const CONTROL = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\r(?!\n)/
const BIDI = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/
/** Characters that show nothing. Behind a picture character they are how emoji are spelled. */
const INVISIBLE =
  /(?<!\p{Extended_Pictographic}|\p{Emoji_Modifier}|\ufe0f)\p{Default_Ignorable_Code_Point}|[\u2028\u2029\ufff9-\ufffb]/u
const LONE_SURROGATE = /\p{Surrogate}/u

/** What can be said about a command before reading it, by its characters alone. */
export function precheck(command: string): Reason[] {
  const all: Reason['at'] = [0, command.length]
  if (command.length > MAX_COMMAND)
    return [{ code: 'shell.too-long', risk: 'HIGH', text: `it is longer than ${MAX_COMMAND} characters`, at: all }]
  const found: Reason[] = []
  const look = (shape: RegExp, reason: Omit<Reason, 'at'>) => {
    const hit = shape.exec(command)
    if (hit) found.push({ ...reason, at: [hit.index, hit.index + hit[0].length] })
  }
  look(CONTROL, { code: 'text.control', risk: 'HIGH', text: 'it holds a control character' })
  look(LONE_SURROGATE, { code: 'text.broken', risk: 'HIGH', text: 'it holds half a character' })
  const opened = openers(command)
  if (opened > FAR_TOO_MANY_OPENERS) return [...found, { ...manyOpeners(all), risk: 'HIGH' }]
  if (isAscii(command)) return opened > MAX_OPENERS ? [...found, manyOpeners(all)] : found
  look(BIDI, { code: 'text.bidi', risk: 'HIGH', text: 'it holds a character that turns the direction of reading' })
  look(INVISIBLE, { code: 'text.invisible', risk: 'HIGH', text: 'it holds a character that cannot be seen' })
  return opened > MAX_OPENERS ? [...found, manyOpeners(all)] : found
}

/** Whether it may take long to read: then that is done in a worker that can be ended. What is too long is not read at all. */
export function mayBeSlow(command: string): boolean {
  if (isUnreadable(command)) return false
  return command.length > SMALL || openers(command) > MAX_OPENERS
}

/** Whether it is not read at all: what can be said of it is HIGH already. */
export function isUnreadable(command: string): boolean {
  return command.length > MAX_COMMAND || openers(command) > FAR_TOO_MANY_OPENERS
}

/** Up to here the worst input found costs the parser well under the 20 ms for which an event loop may be held. */
const SMALL = 2048

function manyOpeners(at: Reason['at']): Reason {
  const text = `it opens more than ${MAX_OPENERS} brackets or substitutions`
  return { code: 'shell.openers', risk: 'MEDIUM', text, ...(at && { at }) }
}

function openers(command: string): number {
  let count = 0
  for (const _ of command.matchAll(OPENER)) count++
  return count
}

function isAscii(text: string): boolean {
  for (let index = 0; index < text.length; index++) if (text.charCodeAt(index) > 0x7e) return false
  return true
}
